// Plans on their way out of the engine: ids become names, so that a plan means the same outside
// and in any other engine with the same facts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan.h"
#include "engine/snapshot.h"
#include "topology/base/status.h"

namespace tephra::v1 {
class Plan;
}

namespace tephra {

// REQUIRES: `plan` was made by the State of these books, to which nothing was applied since.
// `out` is empty before. One plan has one encoding.
void EncodePlan(const Plan& plan, const Books& books, v1::Plan* out);

// The same, as the bytes of a tephra.v1.Plan.
std::string PlanBytes(const Plan& plan, const Books& books);

// A task of a job that a plan evicts, by names.
struct PlannedEviction {
  std::string job;  // uid
  std::string role;
  std::int32_t index = 0;
};
// Those of a recorded plan, in its order. DATA_LOSS: these are not the bytes of a tephra.v1.Plan.
absl::StatusOr<std::vector<PlannedEviction>> EvictionsIn(const std::string& plan_bytes);

}  // namespace tephra
