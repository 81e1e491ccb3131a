// Frozen: a State built from short lines and frozen, for asking policies directly.
#pragma once

#include <string>

#include "engine/state.h"
#include "tests/support/build.h"

namespace tephra {

class Frozen {
 public:
  Frozen& Tell(const Event& event) {
    applied_ok_ = applied_ok_ && state_.Apply(event).ok();
    return *this;
  }
  Frozen& Add(const NodeSpec& node) { return Tell(NodeUpserted{node, ++version_}); }
  Frozen& Add(const QueueSpec& queue) { return Tell(QueueUpserted{queue, ++version_}); }
  Frozen& Add(const JobSpec& job) { return Tell(JobUpserted{job, ++version_}); }
  Frozen& Foreign(const std::string& node, const PodTemplate& pod, Slices slices = {}) {
    TaskFact fact;
    fact.uid = "foreign" + std::to_string(++version_);
    fact.phase = TaskPhase::kRunning;
    fact.node = node;
    fact.slices = std::move(slices);
    fact.pod = pod;
    return Tell(TaskUpserted{fact, 1});
  }

  bool applied_ok() const { return applied_ok_; }  // every fact was accepted
  State& state() { return state_; }
  NodeView View(const std::string& node) {
    const Books& books = state_.books();
    return books.occupancy.View(books.hardware, books.hardware.Find(node));
  }

 private:
  State state_;
  bool applied_ok_ = true;
  std::uint64_t version_ = 0;
};

}  // namespace tephra
