// JournaledEngine: an Engine whose every event, tick and plan goes into a journal.
//
// Without a journal it is the Engine and nothing more, so that a binary has one path. One owner
// thread.
#pragma once

#include "engine/engine.h"
#include "sidecar/wire/journal_writer.h"

namespace tephra {

class JournaledEngine {
 public:
  // Both must outlive it; a null journal records nothing.
  JournaledEngine(Engine& engine, JournalWriter* journal) : engine_(engine), journal_(journal) {}

  // As Engine::Apply. An event that the journal cannot hold is refused too, so that no replay misses
  // it.
  // A disk that is full refuses nothing: see JournalWriter::status().
  absl::Status Apply(const Event& event) {
    if (journal_ == nullptr) return engine_.Apply(event);
    TEPHRA_RETURN_IF_ERROR(journal_->Record(event));
    absl::Status status = engine_.Apply(event);
    if (!status.ok()) journal_->RecordRefusal(status);
    return status;
  }

  Plan Tick(TimeMs now) {
    if (journal_ != nullptr) journal_->RecordTick(now);
    Plan plan = engine_.Tick(now);
    if (journal_ != nullptr) journal_->RecordPlan(plan, engine_.state().books());
    return plan;
  }

  // Nothing is recorded from now on.
  void EndJournal() { journal_ = nullptr; }

  const State& state() const { return engine_.state(); }
  Engine& engine() { return engine_; }

 private:
  Engine& engine_;
  JournalWriter* journal_;
};

}  // namespace tephra
