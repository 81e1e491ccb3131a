// Growth: what may have become possible since the last cycle that was not, and where.
//
// One owner thread.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/base/ids.h"

namespace tephra {

class Growth {
 public:
  // For anybody.
  void Anywhere() { ++times_, anywhere_ = true; }
  // For those who may use the node: something left it.
  void On(NodeId node) { ++times_, nodes_.push_back(node); }
  // For those who wait in the queue: the order of their turns changed.
  void In(QueueId queue) { ++times_, queues_.push_back(queue); }

  // How often it grew.
  std::uint64_t times() const { return times_; }
  bool anywhere() const { return anywhere_; }
  // Where, if not anywhere; some may come more than once.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  const std::vector<QueueId>& queues() const { return queues_; }

 private:
  std::uint64_t times_ = 0;
  bool anywhere_ = false;
  std::vector<NodeId> nodes_;
  std::vector<QueueId> queues_;
};

}  // namespace tephra
