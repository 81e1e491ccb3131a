// TraceForm: the supported formats of traces, and the detection of the format of a file.
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

// Detects the format by the first line that is not a comment: the header columns of a CSV, or the
// number of fields.
std::optional<TraceForm> GuessTraceForm(std::string_view line);

// True if the first line that is not a comment is a header row.
bool HasHeaderRow(TraceForm form);

// `header`: the header row, for formats that have one. `tables` (Alea only) are copied.
// INVALID_ARGUMENT names the missing column.
absl::StatusOr<std::unique_ptr<TraceParser>> MakeTraceParser(TraceForm form,
                                                             const std::string& path, int line,
                                                             std::string_view header,
                                                             const AleaTables& tables);

}  // namespace tephra
