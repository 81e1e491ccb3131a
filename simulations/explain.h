// ExplainInSimulation: a job of a simulation file as the engine has it at a time.
#pragma once

#include <optional>
#include <string>

#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

namespace v1 {
class ExplainReply;
}

// After all that happens up to and at that time; `at` none: at the end. INVALID_ARGUMENT says
// what is wrong with the file; NOT_FOUND: there is no such job then.
absl::Status ExplainInSimulation(const std::string& path, std::optional<TimeMs> at,
                                 const std::string& job, v1::ExplainReply* out);

}  // namespace tephra
