// Scratch: a copy of the State on which a job is asked again under other facts, by the passes and
// policies that decide, and which is then as it was.
//
// One owner thread. The State that it was copied from may change meanwhile.
#pragma once

#include <memory>
#include <vector>

#include "plugins/explain/relaxations.h"

namespace tephra {

class Scratch {
 public:
  // REQUIRES: no Snapshot of the state lives.
  Scratch(const State& state, const Assembly& assembly, JobId job, TimeMs now);

  struct Said {
    bool starts = false;
    Verdict verdict = Verdict::kWait;
    Reason reason;  // where it does not start
    // It is not proven that it could not: some search budget ended first.
    bool unknown = false;
  };
  // What is said of the job if it is asked first and nobody is evicted for it.
  Said Try(const std::vector<Change>& changes);

  // No more is tried: Try only says unknown.
  bool ended() const { return steps_left_ <= 0 || work_ >= kMostWork; }
  std::int32_t trials() const { return trials_; }

  // Nodes that the class may not use for that reason, those first that have room for the most of
  // it, then by name.
  std::vector<NodeId> NodesShut(ClassId cls, Misfit why);
  // The node that would hold the most tasks of the class if it were empty, of those that may be
  // used; then the one of the least GPU, then by name. Invalid: none would hold one.
  NodeId BestKind(ClassId cls);

  const Books& books() const { return state_.books(); }

  // In trials: each is about a cycle for one job. One in which many nodes come counts for more.
  static constexpr std::int32_t kMostWork = 250;
  static constexpr std::int32_t kFactsAsOneTrial = 64;

 private:
  Said TryForGood(const std::vector<Event>& facts);
  bool Tell(const std::vector<Event>& facts);
  Said Ask();
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
