// NamedPlan: a Plan with names in the place of ids, so that two engines can be compared and a
// failure can be read.
#pragma once

#include <string>
#include <vector>

#include "engine/plan.h"
#include "engine/state.h"

namespace tephra {

struct NamedPlacement {
  std::string role;
  std::int32_t index = 0;
  std::string node;
  Slices slices;

  bool operator==(const NamedPlacement&) const = default;
};

struct NamedDecision {
  std::string job;
  Part part = Part::kMinimum;
  Verdict verdict = Verdict::kWait;
  Boxed<Reason> reason;
  std::vector<NamedPlacement> placements;
  std::vector<std::string> evictions;  // pods
  struct Move {
    std::string pod;
    std::string node;
    Slices slices;

    bool operator==(const Move&) const = default;
  };
  std::vector<Move> moves{};

  bool operator==(const NamedDecision&) const = default;
};

struct NamedPlan {
  std::vector<NamedDecision> decisions;
  std::vector<std::string> dropped;

  bool operator==(const NamedPlan&) const = default;
};

// REQUIRES: no fact was applied since the state made the plan.
NamedPlan NameOf(const State& state, const Plan& plan);
// A line for each decision and placement.
std::string Text(const ResourceKinds& kinds, const NamedPlan& plan);
const char* VerdictWord(Verdict verdict);
std::string SliceText(const Slices& slices);

}  // namespace tephra
