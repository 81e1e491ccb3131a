// The sections `restarts` and `failures`.
#include <limits>

#include "simulations/workload/sections.h"

namespace tephra {
namespace {

// A duration, or a list of `{ gpus, delay }` in increasing order; the last entry is for all larger
// jobs.
void ReadDelay(const Item& item, std::vector<DelayStep>& steps) {
  if (item.node == nullptr) return;
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  if (item.node->kind != Yaml::Kind::kList) {
    DelayStep all{kAny, 0};
    if (ReadDuration(item, all.delay)) steps.push_back(all);
    return;
  }
  ReadList(item, [&](const Item& one) {
    DelayStep step{kAny, 0};
    Fields fields(one);
    fields.Whole("gpus", step.most_gpus, 0);
    fields.Need("delay");
    fields.Duration("delay", step.delay);
    fields.Done();
    if (!steps.empty() && step.most_gpus <= steps.back().most_gpus) {
      one.Wrong("more gpus than in the previous entry (only the last entry has no gpus)");
    }
    steps.push_back(step);
  });
}

}  // namespace

Restarts ReadRestarts(const Item& item) {
  Restarts restarts;
  Fields fields(item);
  DurationMs checkpoints = 0;
  if (fields.Duration("checkpoint_interval", checkpoints)) restarts.checkpoints = checkpoints;
  ReadDelay(fields.At("start_delay"), restarts.start_delay);
  ReadDelay(fields.At("restart_delay"), restarts.restart_delay);
  fields.Done();
  return restarts;
}

FailureRates ReadFailures(const Item& item) {
  FailureRates rates;
  Fields fields(item);
  fields.Whole("seed", rates.seed, 0, std::numeric_limits<std::int64_t>::max());
  const Item nodes = fields.At("nodes"), tasks = fields.At("tasks");
  const auto at_least_a_second = [](Fields& of, const char* key, DurationMs& mean) {
    const Item duration = of.Need(key);
    if (duration.node != nullptr && ReadDuration(duration, mean) && mean < kSecondMs) {
      duration.Wrong("a duration of at least 1s");
    }
  };
  if (nodes.node != nullptr) {
    Fields of(nodes);
    at_least_a_second(of, "mtbf", rates.node_mtbf);
    at_least_a_second(of, "mttr", rates.node_mttr);
    of.Done();
  }
  if (tasks.node != nullptr) {
    Fields of(tasks);
    at_least_a_second(of, "mtbf", rates.task_mtbf);
    of.Done();
  }
  fields.Done();
  return rates;
}

}  // namespace tephra
