// The GPUs chosen within a node are those of a brute force that knows nothing of tables: it lists
// all sets and rates each from the matrix.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/property/laws.h"
#include "tests/support/dice.h"
#include "tests/support/gpu_machines.h"
#include "topology/gpu_sets.h"
#include "topology/links_text.h"

namespace tephra {
namespace {

using Gpus = std::vector<int>;  // ascending

Gpus GpusOf(unsigned mask) {
  Gpus gpus;
  for (int gpu = 0; gpu < 16; ++gpu) {
    if ((mask >> gpu & 1u) != 0) gpus.push_back(gpu);
  }
  return gpus;
}

// visit(set) for all sets of k of the GPUs.
template <class Visit>
void ForEachSet(const Gpus& of, std::size_t k, const Visit& visit) {
  std::vector<bool> in(of.size(), false);
  std::fill(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(k), true);
  do {
    Gpus set;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (in[i]) set.push_back(of[i]);
    }
    visit(set);
  } while (std::prev_permutation(in.begin(), in.end()));
}

constexpr int kNoLink = 1 << 30;  // the slowest link of a lone GPU

int Slowest(const NodeLinks& links, const Gpus& set) {
  int slowest = kNoLink;
  for (int a : set) {
    for (int b : set) {
      if (a != b) slowest = std::min(slowest, links.at(a, b).mb_per_s);
    }
  }
  return slowest;
}

int BestOfSize(const NodeLinks& links, const Gpus& of, std::size_t k) {
  int best = 0;
  if (of.size() < k) return best;
  ForEachSet(of, k, [&](const Gpus& set) { best = std::max(best, Slowest(links, set)); });
  return best;
}

// The order that gpu_sets.h documents; less is better.
auto Rating(const NodeLinks& links, const Gpus& free, const Gpus& set) {
  Gpus rest;
  std::set_difference(free.begin(), free.end(), set.begin(), set.end(), std::back_inserter(rest));
  int total = 0, squares = 0;
  unsigned mask = 0;
  std::set<int> numa;
  std::map<int, int> stay;
  for (int a : set) {
    for (int b : set) total += a < b ? links.at(a, b).mb_per_s : 0;
    numa.insert(links.numa(a));
    mask |= 1u << a;
  }
  for (int a : rest) {
    for (int b : rest) total += a < b ? links.at(a, b).mb_per_s : 0;
    ++stay[links.numa(a)];
  }
  for (const auto& [node, gpus] : stay) squares += gpus * gpus;
  return std::tuple(-Slowest(links, set), -BestOfSize(links, rest, 8), -BestOfSize(links, rest, 4),
                    -BestOfSize(links, rest, 2), -total, static_cast<int>(numa.size()), -squares,
                    mask);
}

unsigned BruteForce(const NodeLinks& links, unsigned free_mask, std::size_t k) {
  const Gpus free = GpusOf(free_mask);
  if (free.size() < k) return 0;
  std::vector<decltype(Rating(links, free, free))> ratings;
  ForEachSet(free, k, [&](const Gpus& set) { ratings.push_back(Rating(links, free, set)); });
  return std::get<7>(*std::min_element(ratings.begin(), ratings.end()));
}

// Returns how many questions were compared.
int CompareAll(const NodeLinks& links, const GpuSets& sets) {
  int asked = 0;
  for (unsigned free = 0; free < 1u << links.gpus(); ++free) {
    for (int k = 1; k <= links.gpus(); ++k, ++asked) {
      const unsigned best = sets.Best(static_cast<GpuMask>(free), k);
      if (best == BruteForce(links, free, static_cast<std::size_t>(k))) continue;
      INFO("free " << free << ", k " << k << ", got " << best);
      FAIL("another set than by brute force");
    }
  }
  return asked;
}

NodeLinks RandomLinks(Dice& dice, int gpus) {
  const std::vector<Link> kinds = {PcieLink(LinkType::kSys), PcieLink(LinkType::kPix),
                                   NvLink(1, "V100"), NvLink(2, "V100"), NvLink(4, "V100")};
  NodeLinks links(gpus);
  for (int a = 0; a < gpus; ++a) {
    for (int b = 0; b < a; ++b) links.Set(a, b, dice.Pick(kinds));
    links.SetNuma(a, static_cast<std::int16_t>(dice.From(-1, 2)));
  }
  return links;
}

TEST_CASE("GpuSets: every k and every occupancy of the four machines is as by brute force") {
  for (const GpuMachine& machine : kGpuMachines) {
    INFO(machine.name);
    const NodeLinks links = *ParseLinks(machine.topo, machine.model);
    const int asked = CompareAll(links, GpuSets(links));
    std::printf("%s: %d questions, 0 mismatches\n", machine.name.data(), asked);
  }
}

TEST_CASE("GpuSets: random links of up to 8 GPUs are served as by brute force") {
  int asked = 0, nodes = 0;
  ForEachSeed(400, [&](std::uint64_t seed) {
    Dice dice(seed);
    const NodeLinks links = RandomLinks(dice, dice.From(1, 8));
    asked += CompareAll(links, GpuSets(links));
    ++nodes;
  });
  std::printf("random nodes: %d with up to 8 GPUs, %d questions, 0 mismatches\n", nodes, asked);
}

TEST_CASE("GpuSets: random questions to random nodes of 9 to 16 GPUs are as by brute force") {
  int asked = 0;
  ForEachSeed(200, [&](std::uint64_t seed) {
    Dice dice(seed);
    const NodeLinks links = RandomLinks(dice, dice.From(9, 16));
    const GpuSets sets(links);
    for (int question = 0; question < 4; ++question, ++asked) {
      const auto free = static_cast<GpuMask>(dice.Below(1 << links.gpus()));
      const int k = dice.From(1, 16);
      CHECK(sets.Best(free, k) == BruteForce(links, free, static_cast<std::size_t>(k)));
      CHECK(sets.Best(free, k) == sets.Best(free, k));
    }
  });
  std::printf("random nodes of 9 to 16 GPUs: %d questions, 0 mismatches\n", asked);
}

}  // namespace
}  // namespace tephra
