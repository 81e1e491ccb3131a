// A small cluster whose decisions are written by hand, for tests of the Verifier. A test owns its bench.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/verify.h"
#include "tests/support/small_cluster.h"

namespace tephra {

// One node "n" of 4 devices and 8 cores, an ineligible "t", a queue with a limit of 3 GPUs, and
// jobs whose placements are written by hand.
class Bench {
 public:
  Bench() {
    Tell(NodeUpserted{ANode("n").Cores(8).Gpus(4, "A", 16000).Label("rack", "r"), 1});
    Tell(NodeUpserted{ANode("t").Cores(8).Gpus(4, "A", 16000).Tainted("no", ""), 1});
    Tell(QueueUpserted{AQueue("top").Limit(kGpu, 3000), 1});
    Tell(QueueUpserted{AQueue("q").Under("top"), 1});
  }
  void Tell(const Event& event) { REQUIRE(state_.Apply(event).ok()); }
  void Add(const JobSpec& job) { Tell(JobUpserted{job, 1}); }

  TaskId task(const std::string& job, int index, std::size_t role = 0) const {
    return state_.books()
        .jobs[state_.FindJob(job).index()]
        .roles[role]
        .tasks[static_cast<std::size_t>(index)];
  }
  Placement On(const char* node, TaskId task, Slices slices = {}) const {
    return {task, state_.books().hardware.Find(node), std::move(slices)};
  }
  Decision Start(const std::string& job, std::vector<Placement> placements) const {
    return {state_.FindJob(job), Part::kMinimum, Verdict::kStart, {}, std::move(placements), {}};
  }
  // What is wrong with the decisions in one plan, in turn.
  std::vector<std::string> Check(const std::vector<Decision>& decisions) {
    const Snapshot snapshot = state_.Freeze(0);
    verifier_.Begin(snapshot);
    std::vector<std::string> faults;
    for (const Decision& decision : decisions) faults.push_back(verifier_.Check(decision));
    return faults;
  }
  std::string CheckOne(const Decision& decision) { return Check({decision})[0]; }

  State state_;
  Verifier verifier_;
};

inline bool Says(const std::string& fault, const std::string& part) {
  INFO(fault);
  CHECK(fault.find(part) != std::string::npos);
  return fault.find(part) != std::string::npos;
}

}  // namespace tephra
