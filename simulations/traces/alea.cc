#include "simulations/traces/alea.h"

#include <utility>

#include "simulations/traces/swf_fields.h"
#include "simulations/traces/trace_row.h"

namespace tephra {
namespace {

class AleaParser final : public TraceParser {
 public:
  explicit AleaParser(AleaTables tables) : tables_(std::move(tables)) {}

  bool Parse(std::string_view text, int line, TraceJob& job, TraceFault& fault) override {
    if (row_.Cut(text, line) && Read(job)) return true;
    fault = row_.fault();
    return false;
  }

 private:
  bool Read(TraceJob& job) {
    job.line = row_.line();
    job.status = TraceStatus::kNotKnown;  // field 11 is always 1, without a meaning
    if (!row_.Name(kSwfJob, job.id) || !row_.Time(kSwfSubmit, kSecondMs, false, job.submit) ||
        !row_.Time(kSwfRun, kSecondMs, true, job.run) ||
        !row_.Time(kSwfRequestedTime, kSecondMs, true, job.requested) || !Size(job) ||
        !row_.Whole(kSwfRequestedMemory, kNotKnown, TraceRow::kMostKib, job.memory_kib) ||
        !Named(kSwfUser, tables_.users, job.user) || !Named(kSwfGroup, tables_.groups, job.group) ||
        !Queue(job) || !row_.Name(kAleaProperty, job.partition)) {
      return false;
    }
    if (job.partition == "all") job.partition.clear();
    return true;
  }
  bool Size(TraceJob& job) {
    job.cpus = 1;
    std::int64_t gpus = 0;
    if (!row_.Whole(kSwfAllocated, kNotKnown, TraceRow::kMostWhole, job.tasks)) return false;
    if (job.tasks <= 0 && !row_.Whole(kSwfRequested, kNotKnown, TraceRow::kMostWhole, job.tasks)) {
      return false;
    }
    if (job.tasks <= 0) {
      return row_.Wrong(TraceFaultKind::kNoSize, kSwfRequested,
                        "at least 1 node, here or in field allocated");
    }
    if (!row_.Whole(kAleaGpus, 0, TraceRow::kMostWhole, gpus)) return false;
    job.gpus = gpus / job.tasks;
    return gpus % job.tasks == 0 ||
           row_.Wrong(TraceFaultKind::kOutOfRange, kAleaGpus,
                      "a multiple of the " + std::to_string(job.tasks) + " nodes");
  }
  bool Named(std::size_t field, const std::map<std::int64_t, AleaQuota>& table, std::string& out) {
    std::int64_t number = 0;
    if (!row_.Whole(field, kNotKnown, TraceRow::kMostWhole, number)) return false;
    const auto found = table.find(number);
    if (found != table.end()) {
      out = found->second.name;
    } else {
      out.assign(number == kNotKnown ? std::string_view() : row_[field]);
    }
    return true;
  }
  bool Queue(TraceJob& job) {
    if (!Named(kSwfQueue, tables_.queues, job.queue)) return false;
    std::int64_t number = 0;
    row_.Whole(kSwfQueue, kNotKnown, TraceRow::kMostWhole, number);
    return tables_.queues.empty() || tables_.queues.contains(number) ||
           row_.Wrong(TraceFaultKind::kUnknownQueue, kSwfQueue, "a queue of the .queues file");
  }

  AleaTables tables_;
  TraceRow row_{AleaFieldNames(), ' '};
};

}  // namespace

std::unique_ptr<TraceParser> MakeAleaParser(const AleaTables& tables) {
  return std::make_unique<AleaParser>(tables);
}

}  // namespace tephra
