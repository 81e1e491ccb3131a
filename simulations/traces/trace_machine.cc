#include "simulations/traces/trace_machine.h"

#include <tuple>

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

bool IsSmaller(const MachinePart& a, const MachinePart& b) {
  return std::tie(a.cpus, a.gpus, a.tasks) < std::tie(b.cpus, b.gpus, b.tasks);
}

// Calls a function for each limited amount of the part.
std::string AmountsText(const MachinePart& part, std::int64_t nodes, std::int64_t cpus,
                        std::int64_t gpus) {
  std::string text;
  const auto add = [&](std::int64_t bound, std::int64_t amount, const char* what) {
    if (bound == kNotKnown) return;
    text += (text.empty() ? "" : ", ") + std::to_string(amount) + what;
  };
  add(part.tasks, nodes, " nodes");
  add(part.cpus, cpus, " CPUs");
  add(part.gpus, gpus, " GPUs");
  return text;
}

}  // namespace

std::int64_t TraceMachine::Cpus() const { return Sum(parts, &MachinePart::cpus); }
std::int64_t TraceMachine::Gpus() const { return Sum(parts, &MachinePart::gpus); }

std::string AskedText(const MachinePart& part, const TraceJob& job) {
  return AmountsText(part, job.tasks, job.tasks * job.cpus, job.tasks * job.gpus);
}
std::string LimitText(const MachinePart& part) {
  return AmountsText(part, part.tasks, part.cpus, part.gpus);
}

MachineFit FitOn(const TraceMachine& machine, const TraceJob& job, const MachinePart*& nearest) {
  nearest = nullptr;
  for (const MachinePart& part : machine.parts) {
    if (!job.partition.empty() && !part.name.empty() && part.name != job.partition) continue;
    if (nearest == nullptr || IsSmaller(*nearest, part)) nearest = &part;
    if (Within(job.tasks, part.tasks) && Within(job.tasks * job.cpus, part.cpus) &&
        Within(job.tasks * job.gpus, part.gpus)) {
      nearest = &part;
      return MachineFit::kFits;
    }
  }
  if (machine.parts.empty()) return MachineFit::kFits;
  return nearest != nullptr ? MachineFit::kTooLarge : MachineFit::kUnknownPartition;
}

}  // namespace tephra
