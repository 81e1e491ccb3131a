#include "tests/peers/kai_config.h"

#include <algorithm>
#include <string>

namespace tephra {

EngineConfig KaiConfig(const KaiCase& one) {
  EngineConfig config;
  config.full_verify_every = 1;
  config.lost_work.patience_ms = 0;  // KAI evicts for a fair share at once, whatever is lost
  if (one.node_strategy == "spread") config.node_scores = {{"spread", 1}};
  if (one.gpu_strategy == "spread") config.device_scores = {{"spread", 1}};
  if (!one.levels.empty()) config.gang_locality = GangLocality::kNone;
  const auto has = [&](const char* action) {
    return std::find(one.actions.begin(), one.actions.end(), action) != one.actions.end();
  };
  for (const KaiJob& job : one.jobs) {
    if (has("stalegangeviction") && job.staleness_grace_s >= 0) {
      config.incomplete_gang_timeout_ms = std::max<DurationMs>(job.staleness_grace_s * kSecondMs, 1);
    }
  }
  // KAI migrates every task that it can place elsewhere, at any price, and also for reclaim and preemption.
  config.moves.mode = one.kind != "unit" || KaiMayEvict(one)
                                  ? MoveSettings::Mode::kOn
                                  : MoveSettings::Mode::kOff;
  config.moves.moves_per_hour = 1'000'000;
  config.moves.horizon_ms = DurationMs{10'000} * 24 * 60 * 60 * kSecondMs;  // the longest
  if (one.kind == "unit" && has("consolidation") && !has("reclaim") && !has("preempt")) {
    config.disabled_actions = {"reclaim", "preempt"};
    return config;
  }
  if (one.kind != "unit") return config;
  // One action alone. Waiting for terminating tasks belongs to allocate too, so that action keeps
  // both on and no job may be evicted (JobOf).
  if (has("reclaim") && !has("preempt")) config.disabled_actions = {"preempt"};
  if (has("preempt") && !has("reclaim")) config.disabled_actions = {"reclaim"};
  return config;
}

bool KaiMayEvict(const KaiCase& one) {
  return one.kind != "unit" ||
         std::any_of(one.actions.begin(), one.actions.end(), [](const std::string& action) {
           return action == "reclaim" || action == "preempt" || action == "consolidation";
         });
}

}  // namespace tephra
