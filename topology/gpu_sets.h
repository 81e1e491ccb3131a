// GpuSets: which k of a node's free GPUs to take. The slowest link between the chosen GPUs is as
// fast as possible, and the remaining GPUs are as useful as possible. Exact, by table.
//
// Of all sets of k free GPUs the best one has, in this order:
//
//   1. the fastest slowest link between two of its GPUs, because collectives run at the speed of
//      the slowest link (a single GPU has no link);
//   2. the best remaining sets: a set of 8 remaining GPUs with the fastest slowest link; among
//      equals a set of 4, then of 2. Gangs request powers of two, and the largest are the hardest
//      to place;
//   3. the most total bandwidth between its GPUs and between the remaining GPUs, so the fewest and
//      slowest links are cut (a single GPU: the GPU with the slowest links, so that no pair is
//      broken while a GPU without a partner is free);
//   4. the fewest NUMA nodes;
//   5. the greatest sum, over NUMA nodes, of the squares of the remaining GPUs, so that they stay
//      together (with an NVSwitch all links are equal, and rules 4 and 5 decide);
//   6. the lowest mask, so that the answer is unique.
//
// With at most 8 GPUs all answers are computed at once: 3^8 = 6,561 sets are rated, 7 KiB are kept.
// With more GPUs, each answer is computed on first use: rating all 3^16 = 43 million sets would
// delay a cycle, while one answer rates at most 12,870 sets. All answers need 2 MiB, and the traits
// of all sets 768 KiB. Link matrices that differ only in the numbering of GPUs do not share a
// table, because machines of one model number their GPUs alike.
//
// Any number of threads may use one table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "topology/links.h"

namespace tephra {

using GpuMask = std::uint16_t;  // bit i: the node's GPU i

class GpuSets {
 public:
  explicit GpuSets(const NodeLinks& links);

  int gpus() const { return gpus_; }
  // The k free GPUs to take; 0 if fewer are free.
  // REQUIRES: 0 < k; `free` has GPUs of this node only.
  GpuMask Best(GpuMask free, int k) const;
  // The slowest link between two GPUs of the set; 0 for fewer than two GPUs.
  std::int32_t SlowestLinkMbPerS(GpuMask set) const;

 private:
  // The traits of a set. Speeds are ranks among the speeds of the node, from 1. A single GPU ranks
  // above all speeds; 0 means that no such set exists.
  struct Traits {
    std::uint32_t spare = 0;          // ranks of its best sets of 8, 4 and 2, a byte each
    std::int32_t total_mb_per_s = 0;  // of all its links
    std::uint16_t numa_squares = 0;
    std::uint8_t numa_nodes = 0;
    std::uint8_t slowest = 0;
  };
  struct Choice;

  void RateSets(const NodeLinks& links);
  void FindSpareSets();
  void Search(GpuMask free, GpuMask candidates, GpuMask set, int missing, Choice& best) const;
  GpuMask Find(GpuMask free, int k) const;
  std::atomic<GpuMask>& Answer(GpuMask free, int k) const;

  int gpus_;
  std::vector<std::int32_t> speeds_;  // distinct, ascending
  std::vector<Traits> traits_;        // by set
  // By free GPUs and k; 0 if not computed yet. Two threads that compute an entry write the same.
  std::unique_ptr<std::atomic<GpuMask>[]> answers_;
};

// One table for all nodes with equal links, as long as a node keeps it. One owner thread.
class SharedGpuSets {
 public:
  std::shared_ptr<const GpuSets> Of(const NodeLinks& links);

 private:
  std::map<NodeLinks, std::weak_ptr<const GpuSets>> tables_;
};

}  // namespace tephra
