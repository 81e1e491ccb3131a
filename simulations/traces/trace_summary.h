// TraceSummary: what is in a timed trace, gathered in one pass; memory grows with the users and
// queues it names, not with its length.
#pragma once

#include <map>
#include <ostream>
#include <string>

#include "simulations/traces/percentiles.h"
#include "simulations/traces/trace_fault.h"
#include "simulations/traces/trace_reader.h"

namespace tephra {

// Of a user, a queue, or all. Work is amount times run time, of jobs whose run time is known;
// doubles, since a trace may claim more than 64 bits hold.
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

  std::int64_t records = 0;  // lines that are a job or should be one
  TraceShare all;
  TimeMs first = 0, last = 0;  // submit times; 0 without jobs
  std::map<TraceStatus, std::int64_t> statuses;
  std::map<std::string, TraceShare> users, groups, queues;  // those that have a name
  Percentiles sizes;                                        // GPUs of a job that has any, else CPUs
  Percentiles runs_ms, requested_ms;                        // of those that are known
  TraceFaultCounts faults;

  void Add(const TraceJob& job);
  // The mean part of the machine that the jobs would keep busy from the first submission to the
  // last, if each ran at once; negative where the machine or the span is not known.
  double CpuLoad() const;
  double GpuLoad() const;
};

// Reads all of it. Faults are counted; a failure is one of the reader's.
absl::Status Summarize(TraceReader& reader, TraceSummary& summary);

void PrintTraceText(const TraceSummary& summary, std::ostream& out);
// What was wrong with its lines: a table, or that nothing was.
void PrintTraceFaults(const std::string& path, const TraceFaultCounts& faults, std::ostream& out);
void PrintTraceJson(const TraceSummary& summary, std::ostream& out);

const char* TraceStatusName(TraceStatus status);

}  // namespace tephra
