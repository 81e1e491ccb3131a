// CapacityEvent: where room has grown since the last cycle, so that pending jobs may have a new
// answer.
//
// One owner thread.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/base/ids.h"

namespace tephra {

class CapacityEvent {
 public:
  // For any pending job.
  void Anywhere() { ++times_, anywhere_ = true; }
  // For jobs that may use the node: something left it.
  void On(NodeId node) { ++times_, nodes_.push_back(node); }
  // For jobs of the queue: the order of their turns changed.
  void In(QueueId queue) { ++times_, queues_.push_back(queue); }

  // How often room grew.
  std::uint64_t times() const { return times_; }
  bool anywhere() const { return anywhere_; }
  // Where, if not anywhere; a node or queue may come more than once.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  const std::vector<QueueId>& queues() const { return queues_; }

 private:
  std::uint64_t times_ = 0;
  bool anywhere_ = false;
  std::vector<NodeId> nodes_;
  std::vector<QueueId> queues_;
};

}  // namespace tephra
