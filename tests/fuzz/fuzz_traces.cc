// Arbitrary bytes as timed traces: each line is a job, a fault with its line, or a comment, and
// jobs never go back in time; a strict reader refuses exactly what another skips.
//
// The first byte says the form, the second the options for the machine and the order.
#include "simulations/traces/trace_reader.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/law.h"
#include "tests/fuzz/memory_file.h"

namespace tephra {
namespace {

struct Outcome {
  std::int64_t jobs = 0, skipped = 0;
  absl::Status status;
};

void CheckJob(const TraceJob& job, const TraceOptions& options) {
  Law(job.line > 0, "a job has a line");
  Law(!job.id.empty(), "and an id");
  Law(job.tasks > 0 && job.cpus + job.gpus > 0, "and a size");
  Law(job.submit >= 0 && job.run >= kNotKnown && job.requested >= kNotKnown, "and times");
  Law(job.memory_kib >= kNotKnown, "and memory");
  const MachinePart* nearest = nullptr;
  Law(FitOn(options.machine, job, nearest) == MachineFit::kFits, "and fits on the machine");
}

Outcome ReadAll(const std::string& path, const TraceOptions& options) {
  Outcome outcome;
  absl::StatusOr<TraceReader> reader = TraceReader::Open(path, options);
  if (!reader.ok()) return {0, 0, reader.status()};
  TraceJob job;
  TraceFault fault;
  for (TimeMs last = 0;;) {
    const absl::StatusOr<TraceStep> step = reader->Next(job, fault);
    if (!step.ok()) return outcome.status = step.status(), outcome;
    if (*step == TraceStep::kEnd) break;
    if (*step == TraceStep::kFault) {
      Law(fault.line > 0 && !fault.expected.empty(),
          "a fault tells its line and what was expected");
      outcome.skipped += fault.skipped ? 1 : 0;
      continue;
    }
    CheckJob(job, options);
    Law(job.submit >= last, "jobs never go back in time");
    last = job.submit;
    ++outcome.jobs;
  }
  Law(outcome.jobs + outcome.skipped == reader->records(), "each record is a job or is skipped");
  return outcome;
}

}  // namespace
}  // namespace tephra

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tephra;
  Bytes bytes(data, size);
  TraceOptions options;
  const int form = bytes.Below(6);
  if (form < 5) options.form = static_cast<TraceForm>(form);
  const std::uint8_t given = bytes.Byte();
  options.sort_window = given % 4;
  if ((given & 4) != 0) options.machine.parts = {{"", kNotKnown, 64, 8}};
  if ((given & 8) != 0) options.queues = {"1", "a"};
  const MemoryFile file(bytes.Take(size));
  const Outcome lenient = ReadAll(file.path(), options);
  Law(lenient.status.ok() || lenient.status.message().find(file.path()) == 0,
      "a refusal begins with the file");
  options.strict = true;
  const Outcome strict = ReadAll(file.path(), options);
  if (lenient.status.ok()) {
    Law(strict.status.ok() == (lenient.skipped == 0), "strict refuses what is skipped");
  }
  return 0;
}
