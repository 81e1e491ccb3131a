// What tests of State look at: the row of a node, and the sum of a queue.
#pragma once

#include <string>

#include "tests/support/small_cluster.h"

namespace tephra {

inline PodTemplate OneGpu() { return APod().Gpus(1).Cores(1); }

inline const NodeRow& Row(SmallCluster& cluster, const std::string& node) {
  return cluster.books().occupancy.node(cluster.books().hardware.Find(node));
}
inline std::int64_t QueueHolds(SmallCluster& cluster, const std::string& queue, Kind kind) {
  return cluster.books().occupancy.queue_total(cluster.books().queues.Find(queue))[kind];
}

}  // namespace tephra
