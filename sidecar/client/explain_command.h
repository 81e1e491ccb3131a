// `tephra explain job/NAMESPACE/NAME`: why a job runs where it runs, or why it does not.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "topology/base/status.h"
#include "topology/base/time.h"

namespace CLI {
class App;
}

namespace tephra {

namespace v1 {
class ExplainReply;
}

// Explains a job as a simulation file has it at a time, or at its end. INVALID_ARGUMENT: the file
// is bad; NOT_FOUND: there is no such job then.
using ExplainSimulated =
    std::function<absl::Status(const std::string& file, std::optional<TimeMs> at,
                               const std::string& job, v1::ExplainReply* out)>;

// Adds the subcommand; when it was run, `code` is its exit code.
void AddExplainCommand(CLI::App& app, ExplainSimulated simulated, int& code);

// "job/a/b" and "a/b" name job b of namespace a, "job/b" the one of namespace "default"; without a
// slash it is a uid.
std::string JobNamed(const std::string& argument);

// The time of a simulation runs from 0 and is no date.
enum class Times { kDates, kSimulated };
void PrintExplanation(const v1::ExplainReply& reply, bool wide, Times times, std::int64_t now_ms,
                      std::ostream& out);

}  // namespace tephra
