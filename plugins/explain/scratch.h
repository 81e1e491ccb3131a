// Scratch: a copy of the State on which a job is tried under changed facts, with the real passes
// and policies. After each try the copy is as before.
//
// Owned by one search, one thread. The original State may change in the meantime.
#pragma once

#include <memory>
#include <vector>

#include "plugins/explain/relaxations.h"

namespace tephra {

class Scratch {
 public:
  // REQUIRES: no Snapshot of the state exists.
  Scratch(const State& state, const Assembly& assembly, JobId job, TimeMs now);

  struct Result {
    bool starts = false;
    Verdict verdict = Verdict::kWait;
    Reason reason;  // if the job does not start
    // The job does not start, but that is not proven: a search budget ended first.
    bool unknown = false;
  };
  // The decision about the job if it goes first and nothing is evicted for it.
  Result Try(const std::vector<Change>& changes);

  // No more tries: Try answers unknown.
  bool ended() const { return steps_left_ <= 0 || work_ >= kMostWork; }
  std::int32_t trials() const { return trials_; }

  // The nodes that the class may not use for that reason, sorted by room for the class, the most
  // first, then by rank.
  std::vector<NodeId> NodesShut(ClassId cls, Misfit why);
  // The usable node that would hold the most tasks of the class if it were empty; among equals the
  // node with the fewest GPUs, then by rank. Invalid: no node would hold a task.
  NodeId BestKind(ClassId cls);

  const Books& books() const { return state_.books(); }

  // In trials, each about a cycle for one job. A trial that adds many nodes counts as several.
  static constexpr std::int32_t kMostWork = 250;
  static constexpr std::int32_t kFactsAsOneTrial = 64;

 private:
  Result TryOnCopy(const std::vector<Event>& facts);
  bool Apply(const std::vector<Event>& facts);
  Result Ask();
  bool MayBeElsewhere(const Reason& reason) const;
  Policies PoliciesOf(const Snapshot& snapshot);

  const Assembly& assembly_;
  State state_;
  JobId job_;
  TimeMs now_;
  std::shared_ptr<const Score> score_;
  std::unique_ptr<CycleTools> tools_ = std::make_unique<CycleTools>();
  std::int32_t steps_left_;
  std::int32_t trials_ = 0;
  std::int32_t work_ = 0;
  std::uint64_t version_ = kFirstWhatIf;
};

}  // namespace tephra
