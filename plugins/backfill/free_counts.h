// FreeCounts: the free CPUs and compute of GPUs, by node. A count rules out places at a fraction of
// the cost of a placement.
//
// One owner thread.
#pragma once

#include <cstdint>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "engine/ledger.h"
#include "engine/policy.h"

namespace tephra {

// What one task takes: CPUs in thousandths, compute in thousandths of a GPU.
struct CountedNeed {
  std::int64_t cpu = 0;
  std::int64_t compute = 0;
};

class FreeCounts {
 public:
  struct DevicePart {
    std::uint32_t device;  // index over all nodes
    std::int32_t compute;
  };
  struct Taken {
    std::uint32_t node = 0;
    std::int64_t cpu = 0;
    absl::InlinedVector<DevicePart, 8> parts;
  };

  // What is free on the ledger, or as the facts have it.
  explicit FreeCounts(const Ledger& ledger)
      : FreeCounts(ledger.snapshot().hardware(), ledger.occupancy()) {}
  FreeCounts(const Hardware& hardware, const Occupancy& occupancy);

  // Counts the node again, whose devices are the same.
  void Load(const Hardware& hardware, const Occupancy& occupancy, NodeId node);

  std::size_t nodes() const { return cpu_.size(); }  // indexes of NodeId are below it
  // Upper bound on how many tasks have room on the node, where `gone` is taken besides.
  std::int64_t Copies(const CountedNeed& need, std::size_t node, const CountedNeed& gone = {}) const;
  // sign +1: the place is free; -1: it is taken.
  void Add(const Taken& taken, int sign);

 private:
  std::vector<std::int64_t> cpu_;      // by node; below zero: taken more than once
  std::vector<std::int64_t> compute_;  // by node: what its devices have free, each at least zero
  std::vector<std::int64_t> device_;   // by device; below zero: taken more than once
};

CountedNeed NeedOf(const TaskClass& cls);
// What a task of the class takes there. On a node that is not there it is nothing.
FreeCounts::Taken TakenBy(const Hardware& hardware, const TaskClass& cls, NodeId node,
                          const Slices& slices);

}  // namespace tephra
