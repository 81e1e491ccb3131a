#include "simulations/traces/swf.h"

#include <charconv>
#include <string>

#include "simulations/traces/swf_fields.h"
#include "simulations/traces/trace_row.h"

namespace tephra {
namespace {

class SwfParser final : public TraceParser {
 public:
  bool Parse(std::string_view text, int line, TraceJob& job, TraceFault& fault) override {
    if (row_.Cut(text, line) && Read(job)) return true;
    fault = row_.fault();
    return false;
  }

 private:
  bool Read(TraceJob& job) {
    job.line = row_.line();
    return row_.Name(kSwfJob, job.id) && row_.Time(kSwfSubmit, kSecondMs, false, job.submit) &&
           row_.Time(kSwfRun, kSecondMs, true, job.run) &&
           row_.Time(kSwfRequestedTime, kSecondMs, true, job.requested) && Size(job) &&
           Memory(job) && Status(job) && Number(kSwfUser, job.user) &&
           Number(kSwfGroup, job.group) &&
           Number(kSwfExecutable, job.executable) && Number(kSwfQueue, job.queue) &&
           Number(kSwfPartition, job.partition);
  }
  bool Size(TraceJob& job) {
    job.cpus = 1;
    job.gpus = 0;
    if (!row_.Whole(kSwfAllocated, kNotKnown, TraceRow::kMostWhole, job.tasks)) return false;
    if (job.tasks > 0) return true;
    if (!row_.Whole(kSwfRequested, kNotKnown, TraceRow::kMostWhole, job.tasks)) return false;
    if (job.tasks > 0) return true;
    return row_.Wrong(TraceFaultKind::kNoSize, kSwfRequested,
                      "at least 1 processor, here or in field allocated");
  }
  bool Memory(TraceJob& job) {
    if (!row_.Whole(kSwfRequestedMemory, kNotKnown, TraceRow::kMostKib, job.memory_kib))
      return false;
    return job.memory_kib != kNotKnown ||
           row_.Whole(kSwfUsedMemory, kNotKnown, TraceRow::kMostKib, job.memory_kib);
  }
  bool Status(TraceJob& job) {
    std::int64_t status = 0;
    if (!row_.Whole(kSwfStatus, kNotKnown, 5, status)) return false;
    if (status >= 2 && status <= 4) {
      return row_.Wrong(TraceFaultKind::kPart, kSwfStatus,
                        "the status of a whole job (partial executions are not read)");
    }
    job.status = status == 1   ? TraceStatus::kCompleted
                 : status == 0 ? TraceStatus::kFailed
                 : status == 5 ? TraceStatus::kCancelled
                               : TraceStatus::kNotKnown;
    return true;
  }
  bool Number(std::size_t field, std::string& out) {
    std::int64_t number = 0;
    if (!row_.Whole(field, kNotKnown, TraceRow::kMostWhole, number)) return false;
    out.assign(number == kNotKnown ? std::string_view() : row_[field]);
    return true;
  }

  TraceRow row_{SwfFieldNames(), ' '};
};

}  // namespace

std::unique_ptr<TraceParser> MakeSwfParser() { return std::make_unique<SwfParser>(); }

std::optional<TraceFault> SwfHeader::Take(std::string_view comment, int line) {
  std::size_t at = comment.find_first_not_of("; \t");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view key = NextField(comment, ' ', at);
  std::int64_t* const known = key == "MaxProcs:"        ? &max_procs
                              : key == "MaxNodes:"      ? &max_nodes
                              : key == "UnixStartTime:" ? &unix_start_s
                                                        : nullptr;
  if (known == nullptr) return std::nullopt;
  // More may follow the number ("MaxNodes: 430 (400 batch, 30 login)").
  const std::string_view value = NextField(comment, ' ', at);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool good = !value.empty() && end == value.data() + value.size() && error == std::errc() &&
                    number >= kNotKnown;
  if (good) return *known = number, std::nullopt;
  return TraceFault{TraceFaultKind::kNoNumber,
                    line,
                    std::string(key.substr(0, key.size() - 1)),
                    std::string(value),
                    "a whole number, or -1",
                    false};
}

}  // namespace tephra
