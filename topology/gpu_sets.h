// GpuSets: which k of a node's free GPUs to take, so that the gang's slowest link is as fast as can
// be and what stays free is worth the most. Exact, by table.
//
// Of all sets of k free GPUs the one is taken that has, in this order,
//
//   1. the fastest slowest link between two of its GPUs (collectives run at the pace of the slowest
//      link; of one GPU no link is asked);
//   2. the least damage: the free GPUs that stay still hold a set of 8 with the fastest slowest
//      link; among equals a set of 4, then of 2. Gangs ask for powers of two, and the largest are
//      the hardest to serve;
//   3. the most bandwidth in total between its GPUs, and between those that stay: the fewest and
//      slowest links lie across (one GPU: the one that is linked worst, so that no pair is broken
//      while a GPU without a partner is free);
//   4. the fewest NUMA nodes;
//   5. the greatest sum, over NUMA nodes, of the squares of free GPUs that stay: they stay together
//      (where an NVSwitch makes all links alike, 4 and 5 decide);
//   6. the lowest mask, so that the answer is one.
//
// With up to 8 GPUs all answers are worked out at once: 3^8 = 6,561 sets are rated and 7 KiB kept.
// With more, an answer is worked out when first asked for: rating all 3^16 = 43 million sets would
// hold a cycle up, while one answer rates at most 12,870. Room for all of them is 2 MiB, and 768
// KiB hold what is known of each set. Tables of matrices that are equal but for the numbering of
// GPUs are not shared: machines of one make number theirs alike.
//
// Any number of threads may ask one table at once.
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
  // Which k of the free GPUs to take; 0 when fewer are free.
  // REQUIRES: 0 < k; `free` has GPUs of this node only.
  GpuMask Best(GpuMask free, int k) const;
  // The slowest link between two GPUs of the set; 0 when there are fewer than two.
  std::int32_t SlowestLinkMbPerS(GpuMask set) const;

 private:
  // What is known of a set. Speeds are ranks among those of the node, from 1 on; a lone GPU ranks
  // above all, and 0 means that there is no such set.
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
  // By free GPUs and k; 0 where not worked out. Two threads that work out the same write the same.
  std::unique_ptr<std::atomic<GpuMask>[]> answers_;
};

// One table for all nodes whose links are equal, for as long as one of them keeps it. One owner
// thread.
class SharedGpuSets {
 public:
  std::shared_ptr<const GpuSets> Of(const NodeLinks& links);

 private:
  std::map<NodeLinks, std::weak_ptr<const GpuSets>> tables_;
};

}  // namespace tephra
