// AllReduce: an estimate of how fast a gang's GPUs can sum their gradients, by the links of its
// ring.
//
// Given are the bandwidth of each GPU out of its node and out of each domain, and a ring that
// visits the GPUs task by task, by task index. In each step of a ring all-reduce every GPU sends
// one part to the next GPU. If the gang has g GPUs in a domain, each with bandwidth b of the
// uplink, and the ring leaves the domain k times, then k parts share g b. So the bandwidth of the
// ring is
//
//   min( bandwidth between GPUs of a node, if the ring has such a step;
//        min over nodes and domains that the ring leaves of  g b / k ).
//
// This is the bus bandwidth that nccl-tests prints for large messages: with n GPUs and S bytes,
// each of the 2 (n - 1) steps moves S / n. So t = 2 (n - 1) / n * S / B and
// B = S / t * 2 (n - 1) / n.
//
// A closed ring enters a domain as often as it leaves it, and links are equally fast in both
// directions.
//
// Assumes that each GPU has its part of an uplink for itself (a library with several rings uses all
// parts), and that the algorithm is a ring. Latency, trees, reductions in switches and the links
// within a node are ignored. NCCL visits all GPUs of a node before it goes to the next node. So if
// tasks of one node are apart in the order, NCCL is at least as fast as this estimate.
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

// Bandwidth in one direction, in Gbit/s per GPU.
struct Bandwidths {
  // A larger value is a mistake. Sums of these over all GPUs of a cluster stay within 64 bits.
  static constexpr std::int64_t kMost = 100'000;

  std::int64_t node = 0;  // to other GPUs of its node
  // The bandwidth per GPU out of its node, out of its domain of tier 1, of tier 2, and so on. The
  // last value also holds for all higher tiers. A domain of tier 0 has the value of a node.
  std::vector<std::int64_t> uplinks;

  bool operator==(const Bandwidths&) const = default;
};

// The GPUs of one task.
struct RingStop {
  std::uint32_t rank = 0;  // of the node, in the row of the fabric
  std::int32_t gpus = 0;   // 0: not in the ring
};

struct AllReduce {
  std::int64_t mbit_per_s = 0;
  // The limit: links within nodes, the uplink of a node, or the uplink of a domain. Of equal limits
  // the first in this order, and then the first node or domain.
  enum class Limit : std::uint8_t { kWithinNode, kNode, kDomain } limit = Limit::kWithinNode;
  std::uint32_t which = 0;  // kNode: the rank; kDomain: the index of the domain

  bool operator==(const AllReduce&) const = default;
};

// None for fewer than two GPUs.
// REQUIRES: the ranks are in the fabric's row; all bandwidths are 1 to kMost, one uplink at least.
std::optional<AllReduce> RingAllReduce(const Fabric& fabric, const std::vector<RingStop>& stops,
                                       const Bandwidths& bandwidths);

}  // namespace tephra
