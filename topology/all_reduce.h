// AllReduce: how fast a gang's GPUs can sum their gradients, by the links that its ring crosses.
//
// Given: what each GPU has of the links out of its node and out of each domain, and a ring that
// visits the GPUs task by task, in the order of the tasks' indexes. In each step of a ring
// all-reduce every GPU sends one part to the next. A domain of which the gang has g GPUs, each with
// b of the uplink, and which the ring leaves k times, passes k parts over g b: so the slowest
// uplink gives the ring
//
//   min( bandwidth between GPUs of a node, where the ring has such a step;
//        min over nodes and domains that the ring leaves of  g b / k ).
//
// That is the bus bandwidth that nccl-tests print for large messages: with n GPUs and S bytes each
// of the 2 (n - 1) steps moves S / n, so t = 2 (n - 1) / n * S / B, and B = S / t * 2 (n - 1) / n.
// As many parts enter a closed ring's domain as leave it, and links are as fast either way.
//
// Assumes that every GPU's part of an uplink is its own, also while others use theirs (a library
// that lays several rings uses them all), and that a ring is the algorithm: latency, trees, sums
// worked out by switches and the GPUs' links within a node are not in it. NCCL gathers the GPUs of
// a node before it lays its rings through the nodes, in the order of their first ranks; where tasks
// of a node stand apart in the order it is as fast as said here, or faster.
//
// Sources: NVIDIA/nccl-tests, doc/PERFORMANCE.md (bus bandwidth); P. Patarasuk, X. Yuan, Bandwidth
// optimal all-reduce algorithms for clusters of workstations, JPDC 69 (2009); NVIDIA/nccl,
// src/init.cc (initTransportsRank). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topology/fabric.h"

namespace tephra {

// In one direction, in Gbit/s for each GPU.
struct Bandwidths {
  // More would be a slip; sums of these over all GPUs of a cluster stay within 64 bits.
  static constexpr std::int64_t kMost = 100'000;

  std::int64_t node = 0;  // to other GPUs of its node
  // Its part of what leads out of its node, out of its domain of tier 1, of tier 2, ...; the last
  // one stands for all that are wider. A domain of tier 0 has what a node has.
  std::vector<std::int64_t> uplinks;

  bool operator==(const Bandwidths&) const = default;
};

// The GPUs of one task.
struct RingStop {
  std::uint32_t rank = 0;  // of its node, in the row of the fabric
  std::int32_t gpus = 0;   // 0: it has no part in the ring
};

struct AllReduce {
  std::int64_t mbit_per_s = 0;
  // What limits it: links within nodes, or the uplink of a node or of a domain. Of equal
  // limits the first of these, and in it the first node or domain.
  enum class Limit : std::uint8_t { kWithinNode, kNode, kDomain } limit = Limit::kWithinNode;
  std::uint32_t which = 0;  // of kNode the rank, of kDomain the domain's index

  bool operator==(const AllReduce&) const = default;
};

// None for fewer than two GPUs.
// REQUIRES: the ranks are in the fabric's row; all bandwidths are 1 to kMost, one uplink at least.
std::optional<AllReduce> RingAllReduce(const Fabric& fabric, const std::vector<RingStop>& stops,
                                       const Bandwidths& bandwidths);

}  // namespace tephra
