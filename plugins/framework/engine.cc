#include "plugins/framework/engine.h"

#include "topology/base/check.h"

namespace tephra {

absl::Status Engine::Apply(const Event& event) {
  if (const auto* changed = std::get_if<ConfigChanged>(&event)) {
    TEPHRA_RETURN_IF_ERROR(assembly_.validate(changed->config));
  }
  return state_.Apply(event);
}

Plan Engine::Tick(TimeMs now) {
  state_.Expire(now);
  if (!state_.NeedsCycle()) return {state_.books().version, now, {}, {}};
  std::vector<JobId> due = state_.TakeDue();
  Plan plan;
  {
    const Snapshot snapshot = state_.Freeze(now);
    const Policies policies = assembly_.policies(snapshot.config(), snapshot);
    plan = RunCycle(snapshot, policies, assembly_.actions, std::move(due), *tools_, observer_);
  }
  state_.Assume(plan);
  const std::int32_t every = state_.books().config.full_verify_every;
  if (every > 0 && ++cycles_ % static_cast<std::uint64_t>(every) == 0) {
    const std::string fault = state_.CheckBooks();
    if (!fault.empty()) CheckFailed(__FILE__, __LINE__, fault.c_str(), 0, 0);
  }
  return plan;
}

}  // namespace tephra
