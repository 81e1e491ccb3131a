// Where two plans, as bytes of tephra.v1.Plan, first differ.
#pragma once

#include <optional>
#include <string>

namespace tephra {

struct PlanDifference {
  int decision = -1;     // index; -1 where the difference is not in a decision
  std::string job;       // uid of that decision's job, as recorded; empty as above
  std::string field;     // e.g. "decisions[3].placements[0].node"; "bytes": only the encoding
  std::string recorded;  // value in either; empty where it is not there
  std::string made;
};

// Nothing where the bytes are equal.
std::optional<PlanDifference> ComparePlans(const std::string& recorded, const std::string& made);

}  // namespace tephra
