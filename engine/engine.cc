#include "engine/engine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "topology/base/check.h"

namespace tephra {

absl::Status Engine::Apply(const Event& event) {
  if (const auto* changed = std::get_if<ConfigChanged>(&event)) {
    TEPHRA_RETURN_IF_ERROR(assembly_.validate(changed->config));
    policies_.reset();
  }
  return state_.Apply(event);
}

Plan Engine::Tick(TimeMs now) {
  state_.Expire(now);
  std::optional<Memory> memory;
  if (state_.TakeMemoryDue()) memory = state_.Remember();
  if (!state_.NeedsCycle()) return {state_.books().version, now, {}, {}, std::move(memory)};
  state_.Settle();
  RenewPolicies();
  Due due = state_.TakeDue(*policies_);
  Plan plan;
  {
    const Snapshot snapshot = state_.Freeze(now);
    // No job to ask, and nothing that concerns what runs.
    if (due.empty() && !snapshot.config().evict_from_unhealthy && !state_.TimesOut()) {
      return {snapshot.version(), now, {}, {}, std::move(memory)};
    }
    plan = RunCycle(snapshot, *policies_, assembly_.actions, std::move(due), *tools_, observer_);
  }
  plan.memory = std::move(memory);
  ShareReasons(plan);
  state_.Assume(plan);
  AuditBooks();
  return plan;
}

void Engine::ShareReasons(Plan& plan) {
  for (Decision& decision : plan.decisions) {
    decision.reason = reasons_.Of(std::move(decision.reason));
  }
}

void Engine::RenewPolicies() {
  const Books& books = state_.books();
  const std::uint64_t hardware = books.hardware.version(), pods = books.recent_pods.version();
  if (policies_ && hardware_scored_ == hardware && pods_scored_ == pods) return;
  hardware_scored_ = hardware;
  pods_scored_ = pods;
  const std::shared_ptr<const Score> current = policies_ ? policies_->score : nullptr;
  std::shared_ptr<const Score> score = assembly_.score(books.config, books, current);
  if (policies_ && score == current) return;
  // What was rated by another may be rated otherwise now. After a new config it is forgotten
  // anyway.
  if (policies_) tools_->ForgetRatings();
  policies_ = assembly_.policies(books.config, std::move(score));
  state_.Use(policies_->order);
}

void Engine::AuditBooks() {
  const Books& books = state_.books();
  if (books.config.full_verify_every <= 0) return;
  // It looks at every row, a few hundred ns each: once in as many cycles as there are rows keeps
  // that a fixed part of a cycle, whatever the cluster's size.
  const std::size_t rows = books.hardware.slots() + books.tasks.size();
  const auto every = std::max(static_cast<std::size_t>(books.config.full_verify_every), rows);
  if (++cycles_since_audit_ < every) return;
  cycles_since_audit_ = 0;
  const std::string fault = state_.CheckBooks();
  if (!fault.empty()) CheckFailed(__FILE_NAME__, __LINE__, fault.c_str(), 0, 0);
}

}  // namespace tephra
