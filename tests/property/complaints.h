// What an engine's own check said of the decisions that it dropped.
#pragma once

#include <string>

#include "engine/engine.h"

namespace tephra {

// Remembers why a decision was dropped: none should be.
class Complaints final : public CycleObserver {
 public:
  explicit Complaints(Engine& engine) { engine.Observe(this); }
  void PassBegins(std::string_view) override {}
  void PassEnds(std::string_view) override {}
  void DecisionDropped(const Snapshot&, const Decision&, const std::string& why) override {
    all += why + "; ";
  }
  std::string all;
};

}  // namespace tephra
