// Which tasks may be evicted, and whether evictions for a share are worth the work that they lose.
#include <algorithm>

#include "tests/support/eviction_oracle.h"

namespace tephra {

bool EvictionOracle::InQuota(const std::string& queue, std::size_t levels) const {
  const std::vector<std::string> path = Path(queue);
  for (std::size_t level = 0; level < levels; ++level) {
    const Resources held = Held(path[level]);
    const Resources& deserved = mirror_->queues().at(path[level]).deserved;
    bool any = false;
    for (Kind k = 0; k < kMaxKinds; ++k) {
      if (asked_[k] == 0 || deserved[k] == 0) continue;
      any = true;
      if (held[k] + asked_[k] > deserved[k]) return false;
    }
    if (!any) return false;
  }
  return true;
}

bool EvictionOracle::Worthwhile(const MirrorJob& job, const Option& option) const {
  std::int64_t tasks = job.spec.gang.min_member;
  for (const auto& [name, role] : job.roles) {
    for (const MirrorTask& task : role.tasks) {
      tasks -= task.phase == TaskPhase::kRunning || task.phase == TaskPhase::kAssumed ||
               task.phase == TaskPhase::kSucceeded;
    }
  }
  const std::int64_t size = std::max(asked_[kGpu], 100 * std::max<std::int64_t>(tasks, 1));
  const DurationMs waited = now_ - job.spec.created;
  const std::int64_t worth = size * reclaim_.max_loss_percent / 100 * (waited / kSecondMs);
  std::int64_t lost[2] = {0, 0};  // by share, within the quota
  for (const Part& part : option.parts) {
    if (part.queue == job.spec.queue) continue;
    const std::vector<std::string> theirs = Path(part.queue);
    std::size_t levels = 0;
    for (const std::string& queue : Path(job.spec.queue)) {
      if (std::find(theirs.begin(), theirs.end(), queue) != theirs.end()) break;
      ++levels;
    }
    const bool in_quota = InQuota(job.spec.queue, levels);
    if (waited >= (in_quota ? reclaim_.quota_patience_ms : reclaim_.patience_ms)) continue;
    lost[in_quota] += part.loss;
    if (part.largest_loss > worth || lost[in_quota] > worth) return false;
  }
  return true;
}

bool EvictionOracle::MayTake(const MirrorJob& job, const MirrorJob& other,
                             const MirrorTask& task) const {
  if (task.phase != TaskPhase::kRunning || !costs_.contains(task.uid)) return false;
  if (job.spec.queue == other.spec.queue) return other.spec.priority < job.spec.priority;
  const std::vector<std::string> side = Side(job.spec.queue, other.spec.queue);
  if (side.empty()) return false;
  bool any = false;
  for (const Kind k : Scarce(job.spec.queue, Above(side.back()))) {
    if (HoldsOf(task)[k] == 0) continue;
    const bool over = Over(side, k);
    if (!over && !by_deserved_) return false;
    any = any || over;
  }
  return any;
}

bool EvictionOracle::HoldsNothingScarce(const MirrorJob& job, const MirrorJob& other, const MirrorTask& task) const {
  const std::vector<std::string> side = Side(job.spec.queue, other.spec.queue);
  if (side.empty()) return false;
  const std::set<Kind> scarce = Scarce(job.spec.queue, Above(side.back()));
  return std::none_of(scarce.begin(), scarce.end(), [&](Kind k) { return HoldsOf(task)[k] > 0; });
}

}  // namespace tephra
