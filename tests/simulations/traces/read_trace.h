// ReadTrace: all that a trace gives, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "simulations/traces/trace_reader.h"
#include "tests/support/scratch_file.h"

namespace tephra {

struct ReadOutcome {
  std::vector<TraceJob> jobs;
  std::vector<std::string> faults;  // "kind:line:field:value", then "+" where the job is given too
  std::string error;                // without the path
  std::string form;
  std::int64_t records = 0;
};

inline ReadOutcome ReadTraceFile(const std::string& path, const TraceOptions& options) {
  ReadOutcome outcome;
  const auto strip = [&](const absl::Status& status) {
    return std::string(status.message()).substr(path.size());
  };
  auto reader = TraceReader::Open(path, options);
  if (!reader.ok()) return outcome.error = strip(reader.status()), outcome;
  outcome.form = TraceFormName(reader->form());
  TraceJob job;
  TraceFault fault;
  while (true) {
    const auto step = reader->Next(job, fault);
    outcome.records = reader->records();
    if (!step.ok()) return outcome.error = strip(step.status()), outcome;
    if (*step == TraceStep::kEnd) return outcome;
    if (*step == TraceStep::kJob) {
      outcome.jobs.push_back(job);
    } else {
      CHECK_FALSE(fault.expected.empty());
      outcome.faults.push_back(std::string(TraceFaultName(fault.kind)) + ":" +
                               std::to_string(fault.line) + ":" + fault.field + ":" + fault.value +
                               (fault.skipped ? "" : "+"));
    }
  }
}

inline ReadOutcome ReadTrace(const std::string& text, const TraceOptions& options = {}) {
  const ScratchFile file(text);
  return ReadTraceFile(file.path(), options);
}

using Faults = std::vector<std::string>;

}  // namespace tephra
