// TraceForm: which forms of timed traces there are, and which one a file has.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "simulations/traces/trace_parser.h"
#include "topology/base/status.h"

namespace tephra {

struct AleaTables;

enum class TraceForm { kSwf, kPhilly, kMuri, kTiresias, kAlea };

const char* TraceFormName(TraceForm form);
std::optional<TraceForm> TraceFormNamed(std::string_view name);

// By the first line that is no comment: the columns of a CSV's header, or the number of fields.
std::optional<TraceForm> GuessTraceForm(std::string_view line);

// The first line that is no comment is a header row, not a job.
bool HasHeaderRow(TraceForm form);

// `header`: that row, for forms that have one. `tables` (Alea alone) are copied.
// INVALID_ARGUMENT names the column that is not there.
absl::StatusOr<std::unique_ptr<TraceParser>> MakeTraceParser(TraceForm form,
                                                             const std::string& path, int line,
                                                             std::string_view header,
                                                             const AleaTables& tables);

}  // namespace tephra
