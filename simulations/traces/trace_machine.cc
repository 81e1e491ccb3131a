#include "simulations/traces/trace_machine.h"

namespace tephra {
namespace {

std::int64_t Sum(const std::vector<MachinePart>& parts, std::int64_t MachinePart::*amount) {
  std::int64_t sum = parts.empty() ? kNotKnown : 0;
  for (const MachinePart& part : parts) {
    if (part.*amount == kNotKnown) return kNotKnown;
    sum += part.*amount;
  }
  return sum;
}

bool Within(std::int64_t wanted, std::int64_t there) {
  return there == kNotKnown || wanted <= there;
}

}  // namespace

std::int64_t TraceMachine::Cpus() const { return Sum(parts, &MachinePart::cpus); }
std::int64_t TraceMachine::Gpus() const { return Sum(parts, &MachinePart::gpus); }

MachineFit FitOn(const TraceMachine& machine, const TraceJob& job) {
  if (machine.parts.empty()) return MachineFit::kFits;
  MachineFit fit = MachineFit::kUnknownPartition;
  for (const MachinePart& part : machine.parts) {
    if (!job.partition.empty() && !part.name.empty() && part.name != job.partition) continue;
    fit = MachineFit::kTooLarge;
    if (Within(job.tasks, part.tasks) && Within(job.tasks * job.cpus, part.cpus) &&
        Within(job.tasks * job.gpus, part.gpus)) {
      return MachineFit::kFits;
    }
  }
  return fit;
}

}  // namespace tephra
