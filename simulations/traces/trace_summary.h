// TraceSummary: statistics of a trace, collected in one pass. Memory grows with the number of users
// and queues, not with the length of the trace.
#pragma once

#include <map>
#include <ostream>
#include <string>

#include "simulations/traces/percentiles.h"
#include "simulations/traces/trace_fault.h"
#include "simulations/traces/trace_reader.h"

namespace tephra {

// The jobs of a user, of a queue, or all jobs. Work is amount times run time, for jobs with a known
// run time. Work is a double, because it may exceed 64 bits.
struct TraceShare {
  std::int64_t jobs = 0;
  double cpu_ms = 0, gpu_ms = 0;

  void Add(const TraceJob& job);
};

struct TraceSummary {
  std::string path;
  TraceForm form = TraceForm::kSwf;
  bool guessed = false;
  TraceMachine machine;
  std::int64_t unix_start_s = kNotKnown;

  std::int64_t records = 0;  // lines with a job or a fault
  TraceShare all;
  TimeMs first = 0, last = 0;  // submit times; 0 without jobs
  std::map<TraceStatus, std::int64_t> statuses;
  std::map<std::string, TraceShare> users, groups, queues;  // by name, if it is set
  Percentiles sizes;                                        // GPUs of a job that has any, else CPUs
  Percentiles runs_ms, requested_ms;                        // known values only
  TraceFaultCounts faults;

  void Add(const TraceJob& job);
  // The offered load: the work divided by the capacity of the machine from the first to the last
  // submission; negative if the machine or the span is unknown.
  double CpuLoad() const;
  double GpuLoad() const;
};

// Reads the whole trace and counts its faults. Errors are those of the reader.
absl::Status Summarize(TraceReader& reader, TraceSummary& summary);

void PrintTraceText(const TraceSummary& summary, std::ostream& out);
// The table of faults, or "No faults".
void PrintTraceFaults(const std::string& path, const TraceFaultCounts& faults, std::ostream& out);
void PrintTraceJson(const TraceSummary& summary, std::ostream& out);

const char* TraceStatusName(TraceStatus status);

}  // namespace tephra
