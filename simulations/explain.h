// ExplainInSimulation: the state of one job of a simulation at a given time.
#pragma once

#include <optional>
#include <string>

#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

namespace v1 {
class ExplainReply;
}

// The state after all events up to and including `at`; without `at`, at the end. INVALID_ARGUMENT:
// the file is faulty; NOT_FOUND: the job does not exist at that time.
absl::Status ExplainInSimulation(const std::string& path, std::optional<TimeMs> at,
                                 const std::string& job, v1::ExplainReply* out);

}  // namespace tephra
