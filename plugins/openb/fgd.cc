#include "plugins/openb/fgd.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tephra {
namespace {

// The categories of the published code, in its order; the third is not a fragment.
enum Bin { kLackBoth, kLackGpu, kSatisfied, kLackCpu, kCpuPodFits, kCpuPodLacks, kNoAccess, kBins };

// A copy of a node's devices, to try changes on. Avoids the heap for up to 16 devices.
class Copy {
 public:
  explicit Copy(const NodeView& view) : size_(view.devices.size()) {
    if (size_ > few_.size()) many_.resize(size_);
    for (std::size_t d = 0; d < size_; ++d) data()[d] = view.devices[d].free_compute;
  }
  std::span<std::int32_t> free() { return {data(), size_}; }

 private:
  std::int32_t* data() { return many_.empty() ? few_.data() : many_.data(); }

  std::size_t size_;
  std::array<std::int32_t, 16> few_;
  std::vector<std::int32_t> many_;
};

const std::string& ModelOf(const NodeView& view) {
  static const std::string kNone;
  return view.spec.devices.empty() ? kNone : view.spec.devices[0].model;
}

Points PointsOf(double before, double after) {
  const double gain = (before - after) / 1000;
  return static_cast<Points>(1.0 / (1.0 + std::exp(-gain)) * 100) * kPoint;
}

// Takes `count` shares from the fullest devices that have room.
void TakeTightest(std::span<std::int32_t> free, std::int32_t count, std::int32_t compute) {
  // The fullest first. A device that gave a share has less room than before and is skipped.
  std::int32_t tightest = compute;
  while (count > 0) {
    std::int32_t next = std::numeric_limits<std::int32_t>::max();
    for (std::int32_t have : free) {
      if (have >= tightest) next = std::min(next, have);
    }
    if (next == std::numeric_limits<std::int32_t>::max()) return;
    for (std::int32_t& have : free) {
      if (have != next || count == 0) continue;
      have -= compute;
      --count;
    }
    tightest = next + 1;
  }
}

}  // namespace

FragmentTable::FragmentTable(const std::vector<ExpectedPod>& expected) {
  for (const ExpectedPod& pod : expected) {
    auto known = std::find(computes_.begin(), computes_.end(), pod.compute);
    if (known == computes_.end()) known = computes_.insert(computes_.end(), pod.compute);
    pods_.push_back({pod.cpu, pod.devices, static_cast<std::uint32_t>(known - computes_.begin()),
                     pod.share, pod.compute == 0});
    for (const std::string& model : pod.models) {
      if (ModelIndex(model) == models_.size()) models_.push_back(model);
    }
  }
  for (std::size_t m = 0; m <= models_.size(); ++m) {
    auto& access = access_.emplace_back();
    for (const ExpectedPod& pod : expected) {
      access.push_back(pod.models.empty() ||
                       (m < models_.size() && ModelAllowed(pod.models, models_[m])));
    }
  }
}

// models_.size() for a model that no pod names.
std::size_t FragmentTable::ModelIndex(const std::string& model) const {
  return static_cast<std::size_t>(std::find(models_.begin(), models_.end(), model) -
                                  models_.begin());
}

double FragmentTable::Fragment(const FragmentInput& node, const std::string& model) const {
  std::int64_t total = 0;
  for (std::int32_t free : node.free_compute) total += free;
  if (total == 0) return 0;
  // For each requested share: the devices with room, and the idle compute on the other devices.
  constexpr std::size_t kMost = kWholeGpu + 1;  // one entry for each per mille
  std::array<std::int32_t, kMost> able;
  std::array<std::int64_t, kMost> stranded;
  for (std::size_t c = 0; c < computes_.size(); ++c) {
    able[c] = 0;
    stranded[c] = 0;
    for (std::int32_t free : node.free_compute) {
      const bool enough = free >= computes_[c];
      able[c] += enough;
      stranded[c] += enough ? 0 : free;
    }
  }
  std::array<double, kBins> bins{};
  const std::vector<bool>& access = access_[ModelIndex(model)];
  for (std::size_t p = 0; p < pods_.size(); ++p) {
    const Pod& pod = pods_[p];
    const bool cpu = node.free_cpu >= pod.cpu;
    const double all = pod.share * static_cast<double>(total);
    if (pod.cpu_only) {
      bins[cpu ? kCpuPodFits : kCpuPodLacks] += all;
    } else if (!access[p]) {
      bins[kNoAccess] += all;
    } else if (able[pod.compute] < pod.devices) {
      bins[cpu ? kLackGpu : kLackBoth] += all;
    } else if (!cpu) {
      bins[kLackCpu] += all;
    } else {
      bins[kLackGpu] += pod.share * static_cast<double>(stranded[pod.compute]);
    }
  }
  double sum = 0;
  for (int b = 0; b < kBins; ++b) {
    if (b != kSatisfied) sum += bins[static_cast<std::size_t>(b)];
  }
  return sum;
}

Points Fgd::Rate(const NodeView& view, const TaskClass& cls) const {
  Copy copy(view);
  FragmentInput node{view.row.free[kCpu], copy.free()};
  const double before = table_.Fragment(node, ModelOf(view));
  node.free_cpu -= cls.demand[kCpu];
  if (cls.lasting.empty()) return PointsOf(before, table_.Fragment(node, ModelOf(view)));
  const DeviceRequest& request = cls.lasting[0].request;
  if (request.count == 1 && !request.whole()) {
    Points best = 0;
    for (std::size_t d = 0; d < node.free_compute.size(); ++d) {
      const std::int32_t free = node.free_compute[d];
      const bool tried =
          std::find(node.free_compute.begin(),
                    node.free_compute.begin() + static_cast<std::ptrdiff_t>(d),
                    free) != node.free_compute.begin() + static_cast<std::ptrdiff_t>(d);
      if (free < request.compute || tried) continue;
      node.free_compute[d] -= request.compute;
      best = std::max(best, PointsOf(before, table_.Fragment(node, ModelOf(view))));
      node.free_compute[d] = free;
    }
    return best;
  }
  for (const DeviceAsk& ask : cls.lasting) {
    TakeTightest(node.free_compute, ask.request.count, ask.request.compute);
  }
  return PointsOf(before, table_.Fragment(node, ModelOf(view)));
}

Points Fgd::RateDevice(const NodeView& view, const TaskClass& cls, const DeviceAsk& ask, int device,
                       std::uint64_t) const {
  if (ask.request.whole()) return 0;
  Copy copy(view);
  FragmentInput node{view.row.free[kCpu], copy.free()};
  const double before = table_.Fragment(node, ModelOf(view));
  node.free_cpu -= cls.demand[kCpu];
  node.free_compute[static_cast<std::size_t>(device)] -= ask.request.compute;
  return PointsOf(before, table_.Fragment(node, ModelOf(view)));
}

}  // namespace tephra
