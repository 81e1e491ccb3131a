#include "simulations/traces/trace_form.h"

#include <algorithm>

#include "simulations/traces/alea.h"
#include "simulations/traces/gpu_csv.h"
#include "simulations/traces/swf.h"
#include "simulations/traces/trace_row.h"

namespace tephra {
namespace {

struct Entry {
  TraceForm form;
  const char* name;
  const GpuCsvColumns& (*columns)();  // null: no CSV
};
constexpr Entry kForms[] = {{TraceForm::kSwf, "swf", nullptr},
                            {TraceForm::kPhilly, "philly", PhillyColumns},
                            {TraceForm::kMuri, "muri", MuriColumns},
                            {TraceForm::kTiresias, "tiresias", TiresiasColumns},
                            {TraceForm::kAlea, "alea", nullptr}};

const Entry& EntryOf(TraceForm form) { return kForms[static_cast<std::size_t>(form)]; }

}  // namespace

const char* TraceFormName(TraceForm form) { return EntryOf(form).name; }

std::optional<TraceForm> TraceFormNamed(std::string_view name) {
  for (const Entry& entry : kForms) {
    if (name == entry.name) return entry.form;
  }
  return std::nullopt;
}

std::optional<TraceForm> GuessTraceForm(std::string_view line) {
  if (line.find(',') != std::string_view::npos) {
    const std::vector<std::string> names = HeaderColumns(line);
    const auto has = [&](std::string_view name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (has("vc") && has("gpu") && has("dur")) return TraceForm::kPhilly;
    if (!has("job_id") || !has("num_gpu")) return std::nullopt;
    return has("resource_time_0") ? TraceForm::kMuri : TraceForm::kTiresias;
  }
  std::size_t at = 0;
  const std::string_view first = NextField(line, ' ', at);
  if (first.empty() || first.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t count = 1;
  while (NextField(line, ' ', at).data() != nullptr) ++count;
  return count > 18 ? TraceForm::kAlea : TraceForm::kSwf;
}

bool HasHeaderRow(TraceForm form) { return EntryOf(form).columns != nullptr; }

absl::StatusOr<std::unique_ptr<TraceParser>> MakeTraceParser(TraceForm form,
                                                             const std::string& path, int line,
                                                             std::string_view header,
                                                             const AleaTables& tables) {
  if (HasHeaderRow(form)) return MakeGpuCsvParser(EntryOf(form).columns(), path, line, header);
  return form == TraceForm::kAlea ? MakeAleaParser(tables) : MakeSwfParser();
}

}  // namespace tephra
