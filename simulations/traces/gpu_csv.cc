#include "simulations/traces/gpu_csv.h"

#include <algorithm>
#include <utility>

#include "base/bad_input.h"
#include "simulations/traces/trace_row.h"

namespace tephra {
namespace {

struct Places {
  std::size_t id = 0, gpus = 0, submit = 0, run = 0, queue = 0;
  bool has_queue = false;
  DurationMs unit_ms = kSecondMs;
};

class GpuCsvParser final : public TraceParser {
 public:
  GpuCsvParser(const Places& at, std::vector<std::string> names)
      : at_(at), row_(std::move(names), ',') {}

  bool Parse(std::string_view text, int line, TraceJob& job, TraceFault& fault) override {
    if (row_.Cut(text, line) && Read(job)) return true;
    fault = row_.fault();
    return false;
  }

 private:
  bool Read(TraceJob& job) {
    job = {};
    job.line = row_.line();
    job.gpus = 1;
    if (!row_.Name(at_.id, job.id) || (at_.has_queue && !row_.Name(at_.queue, job.queue)) ||
        !row_.Time(at_.submit, at_.unit_ms, false, job.submit) ||
        !row_.Time(at_.run, at_.unit_ms, true, job.run) ||
        !row_.Whole(at_.gpus, -TraceRow::kMostWhole, TraceRow::kMostWhole, job.tasks)) {
      return false;
    }
    return job.tasks > 0 || row_.Wrong(TraceFaultKind::kNoSize, at_.gpus, "at least 1 GPU");
  }

  Places at_;
  TraceRow row_;
};

}  // namespace

const GpuCsvColumns& PhillyColumns() {
  static const GpuCsvColumns columns = {"id", "gpu", "submit", "dur", "vc", kSecondMs};
  return columns;
}
const GpuCsvColumns& TiresiasColumns() {
  static const GpuCsvColumns columns = {"job_id",   "num_gpu", "submit_time",
                                        "duration", "",        kSecondMs};
  return columns;
}
const GpuCsvColumns& MuriColumns() {
  static const GpuCsvColumns columns = {"job_id", "num_gpu", "submit_time", "duration", "", 1};
  return columns;
}

std::vector<std::string> HeaderColumns(std::string_view header) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (header.starts_with(kByteOrderMark)) header.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> names;
  std::size_t at = 0;
  for (std::string_view name; (name = NextField(header, ',', at)).data() != nullptr;) {
    names.emplace_back(name);
  }
  return names;
}

absl::StatusOr<std::unique_ptr<TraceParser>> MakeGpuCsvParser(const GpuCsvColumns& columns,
                                                              const std::string& path, int line,
                                                              std::string_view header) {
  std::vector<std::string> names = HeaderColumns(header);
  absl::Status status;
  const auto place = [&](const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end() || std::find(found + 1, names.end(), name) != names.end()) {
      status.Update(BadInput(path, line, "header", header, "one column " + name));
    }
    return static_cast<std::size_t>(found - names.begin());
  };
  Places at;
  at.unit_ms = columns.unit_ms;
  at.has_queue = !columns.queue.empty();
  at.id = place(columns.id);
  at.gpus = place(columns.gpus);
  at.submit = place(columns.submit);
  at.run = place(columns.run);
  if (at.has_queue) at.queue = place(columns.queue);
  TEPHRA_RETURN_IF_ERROR(status);
  return std::unique_ptr<TraceParser>(std::make_unique<GpuCsvParser>(at, std::move(names)));
}

}  // namespace tephra
