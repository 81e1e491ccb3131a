#include "simulations/traces/trace_summary.h"

#include <algorithm>

namespace tephra {
namespace {

double LoadOf(double work_ms, std::int64_t there, TimeMs span) {
  if (there <= 0 || span <= 0) return -1;
  return work_ms / (static_cast<double>(there) * static_cast<double>(span));
}

void AddNamed(std::map<std::string, TraceShare>& shares, const std::string& name,
              const TraceJob& job) {
  if (!name.empty()) shares[name].Add(job);
}

}  // namespace

void TraceShare::Add(const TraceJob& job) {
  ++jobs;
  if (job.run == kNotKnown) return;
  cpu_ms += static_cast<double>(job.tasks * job.cpus) * static_cast<double>(job.run);
  gpu_ms += static_cast<double>(job.tasks * job.gpus) * static_cast<double>(job.run);
}

void TraceSummary::Add(const TraceJob& job) {
  first = all.jobs == 0 ? job.submit : std::min(first, job.submit);
  last = std::max(last, job.submit);
  all.Add(job);
  ++statuses[job.status];
  AddNamed(users, job.user, job);
  AddNamed(groups, job.group, job);
  AddNamed(queues, job.queue, job);
  sizes.Add(job.tasks * (job.gpus > 0 ? job.gpus : job.cpus));
  if (job.run != kNotKnown) runs_ms.Add(job.run);
  if (job.requested != kNotKnown) requested_ms.Add(job.requested);
}

double TraceSummary::CpuLoad() const { return LoadOf(all.cpu_ms, machine.Cpus(), last - first); }
double TraceSummary::GpuLoad() const { return LoadOf(all.gpu_ms, machine.Gpus(), last - first); }

absl::Status Summarize(TraceReader& reader, TraceSummary& summary) {
  summary.form = reader.form();
  summary.machine = reader.machine();
  summary.unix_start_s = reader.header().unix_start_s;
  TraceJob job;
  TraceFault fault;
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const TraceStep step, reader.Next(job, fault));
    summary.records = reader.records();
    if (step == TraceStep::kEnd) return absl::OkStatus();
    step == TraceStep::kJob ? summary.Add(job) : summary.faults.Add(fault);
  }
}

const char* TraceStatusName(TraceStatus status) {
  switch (status) {
    case TraceStatus::kCompleted:
      return "completed";
    case TraceStatus::kFailed:
      return "failed";
    case TraceStatus::kCancelled:
      return "cancelled";
    case TraceStatus::kNotKnown:
      break;
  }
  return "unknown";
}

}  // namespace tephra
