#include "topology/gpu_sets.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "topology/base/check.h"

namespace tephra {
namespace {

constexpr int kPrecomputed = 8;  // up to this many GPUs, all answers are computed at once
constexpr int kSpareSizes[] = {8, 4, 2};

GpuMask Lowest(GpuMask set) { return static_cast<GpuMask>(set & -set); }
GpuMask Without(GpuMask set, GpuMask taken) { return static_cast<GpuMask>(set & ~taken); }
GpuMask With(GpuMask set, GpuMask more) { return static_cast<GpuMask>(set | more); }

}  // namespace

// The best set so far and its rating; greater is better.
struct GpuSets::Choice {
  GpuMask set = 0;
  std::uint8_t slowest = 0;
  std::tuple<std::uint64_t, std::int32_t, int, int> worth{};

  bool WorseThan(const Choice& other) const {
    return std::tie(worth, other.set) < std::tie(other.worth, set);
  }
};

GpuSets::GpuSets(const NodeLinks& links) : gpus_(links.gpus()) {
  const std::size_t sets = std::size_t{1} << gpus_;
  traits_.resize(sets);
  answers_ =
      std::make_unique<std::atomic<GpuMask>[]>(sets * static_cast<std::size_t>(gpus_));  // zeros
  RateSets(links);
  FindSpareSets();
  if (gpus_ > kPrecomputed) return;
  for (std::size_t free = 1; free < sets; ++free) {
    for (int k = 1; k <= std::popcount(free); ++k) Best(static_cast<GpuMask>(free), k);
  }
}

void GpuSets::RateSets(const NodeLinks& links) {
  for (int a = 0; a < gpus_; ++a) {
    for (int b = 0; b < a; ++b) speeds_.push_back(links.at(a, b).mb_per_s);
  }
  std::sort(speeds_.begin(), speeds_.end());
  speeds_.erase(std::unique(speeds_.begin(), speeds_.end()), speeds_.end());
  const auto rank = [&](std::int32_t speed) {
    const auto at = std::lower_bound(speeds_.begin(), speeds_.end(), speed);
    return static_cast<std::uint8_t>(at - speeds_.begin() + 1);
  };
  std::map<std::int16_t, GpuMask> numa;
  for (int gpu = 0; gpu < gpus_; ++gpu) {
    numa[links.numa(gpu)] = With(numa[links.numa(gpu)], static_cast<GpuMask>(1u << gpu));
  }
  // A set is its lowest GPU and a smaller set, which is rated already.
  for (std::size_t s = 1; s < traits_.size(); ++s) {
    const auto set = static_cast<GpuMask>(s);
    const GpuMask rest = Without(set, Lowest(set));
    const int gpu = std::countr_zero(set);
    Traits& traits = traits_[s];
    traits.slowest =
        rest == 0 ? static_cast<std::uint8_t>(speeds_.size() + 1) : traits_[rest].slowest;
    traits.total_mb_per_s = traits_[rest].total_mb_per_s;
    for (GpuMask left = rest; left != 0; left = Without(left, Lowest(left))) {
      const std::int32_t speed = links.at(gpu, std::countr_zero(left)).mb_per_s;
      traits.slowest = std::min(traits.slowest, rank(speed));
      traits.total_mb_per_s += speed;
    }
    for (const auto& [node, members] : numa) {
      const int here = std::popcount(With(0, set & members));
      traits.numa_nodes = static_cast<std::uint8_t>(traits.numa_nodes + (here > 0 ? 1 : 0));
      traits.numa_squares = static_cast<std::uint16_t>(traits.numa_squares + here * here);
    }
  }
}

// The best set of m GPUs within a set: the set itself if it has m GPUs, otherwise the best one of
// the sets with one GPU less.
void GpuSets::FindSpareSets() {
  std::vector<std::uint8_t> best(traits_.size());
  for (const int m : kSpareSizes) {
    for (std::size_t s = 0; s < best.size(); ++s) {
      const auto set = static_cast<GpuMask>(s);
      const int size = std::popcount(set);
      best[s] = size == m ? traits_[s].slowest : 0;
      for (GpuMask left = size > m ? set : GpuMask{0}; left != 0;
           left = Without(left, Lowest(left))) {
        best[s] = std::max(best[s], best[Without(set, Lowest(left))]);
      }
      traits_[s].spare = traits_[s].spare << 8 | best[s];
    }
  }
}

GpuMask GpuSets::Best(GpuMask free, int k) const {
  TEPHRA_CHECK_OP(k, >, 0);
  TEPHRA_CHECK_OP(free, <, traits_.size());
  if (k > std::popcount(free)) return 0;
  std::atomic<GpuMask>& answer = Answer(free, k);
  if (const GpuMask known = answer.load(std::memory_order_relaxed)) return known;
  const GpuMask found = Find(free, k);
  answer.store(found, std::memory_order_relaxed);
  return found;
}

std::atomic<GpuMask>& GpuSets::Answer(GpuMask free, int k) const {
  return answers_[free * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(k - 1)];
}

GpuMask GpuSets::Find(GpuMask free, int k) const {
  Choice best;
  Search(free, free, 0, k, best);
  return best.set;
}

// Tries all sets of `set` and `missing` more candidates. Skips sets with a slower link than the
// best set.
void GpuSets::Search(GpuMask free, GpuMask candidates, GpuMask set, int missing,
                     Choice& best) const {
  if (missing == 0) {
    const Traits& in = traits_[set];
    const Traits& out = traits_[Without(free, set)];
    const Choice choice{set,
                        in.slowest,
                        {std::uint64_t{in.slowest} << 32 | out.spare,
                         in.total_mb_per_s + out.total_mb_per_s, -in.numa_nodes, out.numa_squares}};
    if (best.set == 0 || best.WorseThan(choice)) best = choice;
    return;
  }
  while (std::popcount(candidates) >= missing) {
    const GpuMask next = Lowest(candidates);
    candidates = Without(candidates, next);
    if (traits_[With(set, next)].slowest < best.slowest) continue;
    Search(free, candidates, With(set, next), missing - 1, best);
  }
}

std::int32_t GpuSets::SlowestLinkMbPerS(GpuMask set) const {
  TEPHRA_CHECK_OP(set, <, traits_.size());
  if (std::popcount(set) < 2) return 0;
  return speeds_[traits_[set].slowest - std::size_t{1}];
}

std::shared_ptr<const GpuSets> SharedGpuSets::Of(const NodeLinks& links) {
  std::weak_ptr<const GpuSets>& known = tables_[links];
  std::shared_ptr<const GpuSets> table = known.lock();
  if (table == nullptr) {
    table = std::make_shared<const GpuSets>(links);
    known = table;
    std::erase_if(tables_, [](const auto& entry) { return entry.second.expired(); });
  }
  return table;
}

}  // namespace tephra
