#include "engine/inqueue.h"

#include <algorithm>

#include "engine/gang_counts.h"
#include "engine/snapshot.h"

namespace tephra {
namespace {

Claim Current(const Books& books, JobId id) {
  const JobRow& job = books.jobs[id.index()];
  return job.live && job.admitted() ? ClaimOf(books, job) : Claim{};
}

bool Shrinks(const Claim& from, const Claim& to) {
  if (from.queue != to.queue) return from.queue.valid();
  for (Kind k = 0; k < kMaxKinds; ++k) {
    if (to.minimum[k] < from.minimum[k]) return true;
  }
  return false;
}

}  // namespace

Claim ClaimOf(const Books& books, const JobRow& job) {
  Claim claim{job.queue, {}, {}};
  Resources placed;
  std::int32_t open = job.min_member;
  const RoleRow* spare = nullptr;
  const GangCounts counts(job);
  for (std::size_t r = 0; r < job.roles.size(); ++r) {
    const RoleRow& role = job.roles[r];
    std::int32_t succeeded = 0;
    for (const TaskId id : role.tasks) {
      const TaskRow& task = books.tasks[id.index()];
      succeeded += task.phase == TaskPhase::kSucceeded;
      if (task.reserved_row.valid()) placed.Add(books.classes[task.cls].demand);
      if (HoldsRoom(task.phase) && task.phase != TaskPhase::kReleasing) {
        placed.Add(books.classes[task.cls].demand);
      }
    }
    const std::int32_t least = std::max(0, counts.least(r) - succeeded);
    if (least > 0) claim.minimum.Add(books.classes[role.cls].demand, least);
    open -= least + succeeded;
    const auto places = static_cast<std::int32_t>(role.tasks.size());
    if (spare == nullptr && places > least + succeeded) spare = &role;
  }
  if (open > 0 && spare != nullptr) claim.minimum.Add(books.classes[spare->cls].demand, open);
  claim.missing = claim.minimum;
  claim.missing = Resources::Max(claim.missing.Add(placed, -1), Resources{});
  return claim;
}

void Inqueue::Switch(bool on, const Books& books) {
  if (on == on_) return;
  *this = Inqueue();
  on_ = on;
  for (std::size_t j = 0; j < books.jobs.size(); ++j) Touch(JobId(j));
}

bool Inqueue::Follow(const Books& books) {
  if (touched_.empty()) return false;
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  claims_.resize(books.jobs.size());
  bool shrinks = false;
  for (const JobId id : touched_) {
    const Claim now = Current(books, id);
    Claim& claim = claims_[id.index()];
    shrinks = shrinks || Shrinks(claim, now);
    Count(claim, -1);
    Count(now, +1);
    claim = now;
  }
  touched_.clear();
  return shrinks;
}

void Inqueue::Count(const Claim& claim, int sign) {
  if (!claim.queue.valid()) return;
  if (claimed_.size() <= claim.queue.index()) claimed_.resize(claim.queue.index() + 1);
  claimed_[claim.queue.index()].Add(claim.minimum, sign);
  missing_.Add(claim.missing, sign);
}

std::string Inqueue::Check(const Books& books) const {
  if (!on_) return claims_.empty() ? "" : "claims are kept without an enqueue gate";
  Inqueue fresh;
  fresh.Switch(true, books);
  fresh.Follow(books);
  fresh.claimed_.resize(std::max(claimed_.size(), fresh.claimed_.size()));
  for (std::size_t j = 0; j < books.jobs.size(); ++j) {
    const Claim here = j < claims_.size() ? claims_[j] : Claim{};
    if (here != fresh.claims_[j])
      return "job \"" + books.jobs[j].name + "\": claims another amount";
  }
  for (std::size_t q = 0; q < fresh.claimed_.size(); ++q) {
    const Resources here = q < claimed_.size() ? claimed_[q] : Resources{};
    if (here != fresh.claimed_[q]) {
      return "queue \"" + books.queues.spec(QueueId(q)).name + "\": its jobs claim another amount";
    }
  }
  return missing_ == fresh.missing_ ? "" : "admitted jobs lack another amount";
}

}  // namespace tephra
