// FreeNodes: the nodes of a ledger by how much they have free, so that a question about room looks at few
// nodes of a full cluster.
//
// Derived from the ledger: dropping it changes no decision. One owner thread.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ledger.h"
#include "engine/task_need.h"

namespace tephra {

class FreeNodes {
 public:
  // Catches up with the ledger, at the cost of the nodes that changed.
  void Follow(const Ledger& ledger);
  // Calls visit(node) for each node that may have room for one task, in no order, until it returns
  // false. A task without a need of GPUs or CPUs may use any node. Returns false if a visit did.
  template <class Visit>
  bool EachWithRoom(const TaskNeed& need, Visit visit) const {
    const bool gpus = need.gpu() > 0;
    const Index& index = gpus ? by_gpus_ : by_cpus_;
    for (std::size_t b = BucketOf(gpus, gpus ? need.gpu() : need.cpu()); b < kBuckets; ++b) {
      for (const NodeId node : index.buckets[b]) {
        if (!visit(node)) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::size_t kBuckets = 32;
  static constexpr std::uint8_t kAbsent = 0xff;
  struct Place {
    std::uint8_t bucket = kAbsent;
    std::uint32_t at = 0;  // in the bucket
  };
  struct Index {
    std::vector<std::vector<NodeId>> buckets = std::vector<std::vector<NodeId>>(kBuckets);
    std::vector<Place> places;  // by NodeId

    void Put(NodeId node, std::uint8_t bucket);
  };
  // A larger amount is in the same bucket, or a later one: by whole GPUs, or by powers of two.
  static std::size_t BucketOf(bool gpus, std::int64_t amount);
  void Put(const Ledger& ledger, NodeId node);

  Index by_gpus_, by_cpus_;
  std::uint64_t seen_ = 0;   // of the ledger's log of nodes
  std::uint64_t order_ = 0;  // Hardware::order_version, and one
};

}  // namespace tephra
