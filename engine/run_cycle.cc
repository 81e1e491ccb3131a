#include "engine/run_cycle.h"

#include <utility>

namespace tephra {

Plan RunCycle(const Snapshot& snapshot, const Policies& policies,
              const std::vector<std::unique_ptr<Action>>& actions, Due due,
              CycleTools& tools, CycleObserver* observer) {
  Cycle cycle(snapshot, policies, std::move(due), tools, observer);
  for (const auto& action : actions) {
    if (!snapshot.config().enables(action->name())) continue;
    if (observer != nullptr) observer->PassBegins(action->name());
    action->Run(cycle);
    if (observer != nullptr) observer->PassEnds(action->name());
  }
  return cycle.Finish();
}

}  // namespace tephra
