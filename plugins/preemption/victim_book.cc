#include "plugins/preemption/victim_book.h"

#include <algorithm>
#include <utility>

#include "engine/gang_counts.h"
#include "engine/holdings.h"
#include "engine/priority.h"

namespace tephra {
namespace {

std::span<const JobId> PlacedIn(const Books& books, QueueId queue) {
  if (queue.index() >= books.placed.size()) return {};
  return books.placed[queue.index()];
}

// Whether the queue may have a running job that a job of this rank may preempt.
bool MayHaveLowerJob(const Snapshot& snapshot, QueueId queue, const Precedence& rank) {
  if (!snapshot.config().enables("preempt")) return false;
  // The age boost only raises a priority, so the lowest base priority decides.
  const auto& jobs = snapshot.books().queue_priorities[queue.index()];
  if (jobs.empty()) return false;
  const std::int64_t lowest = jobs.begin()->first;
  return lowest < rank.priority || (lowest == rank.priority && EvictsByLeft(snapshot.config()));
}

}  // namespace

bool AnyUsageOutside(const Snapshot& snapshot, QueueId queue) {
  const auto& jobs = snapshot.books().queue_priorities;
  for (std::size_t q = 0; q < jobs.size(); ++q) {
    if (jobs[q].empty()) continue;
    QueueId up(q);
    while (up.valid() && up != queue) up = snapshot.queues().parent(up);
    if (up.valid()) continue;
    if (snapshot.occupancy().queue_total(QueueId(q)).NonZero() != 0) return true;
  }
  return false;
}

bool MayHaveVictims(const Snapshot& snapshot, JobId id) {
  const JobRow& job = snapshot.job(id);
  return MayHaveLowerJob(snapshot, job.queue, PrecedenceOf(snapshot, job)) ||
         (snapshot.config().enables("reclaim") && AnyUsageOutside(snapshot, job.queue));
}

std::size_t EndOfJob(std::span<const VictimRef> victims, std::size_t begin) {
  std::size_t end = begin;
  while (end < victims.size() && victims[end].candidate == victims[begin].candidate) ++end;
  return end;
}

EvictionCost Candidate::cost() const {
  EvictionCost all{EvictionCost::kGang, 0, 0};
  for (const Victim& victim : victims) {
    if (!victim.evicted) all += {0, 1, victim.cost};
  }
  return all;
}

std::int64_t Candidate::loss() const {
  std::int64_t all = 0;
  for (const Victim& victim : victims) {
    if (!victim.evicted) all += victim.loss;
  }
  return all;
}

std::int64_t Candidate::wait() const {
  std::int64_t all = 0;
  for (const Victim& victim : victims) {
    if (!victim.evicted) all += victim.wait;
  }
  return all;
}

const QueueBook& VictimBook::queues() const {
  if (!queues_) queues_.emplace(later_);
  return *queues_;
}

bool VictimBook::AnyVictimFor(JobId id) const {
  const JobRow& job = snapshot().job(id);
  return AnyLowerJob(job.queue, PrecedenceOf(snapshot(), job)) ||
         (snapshot().config().enables("reclaim") && AnyUsageOutside(snapshot(), job.queue));
}

bool VictimBook::AnyVictimFor(const Rights& rights) const {
  return AnyLowerJob(rights.queue, rights.rank) || queues().AnyBorrower(rights);
}

// Whether the queue has a running job that a job of this rank may preempt.
bool VictimBook::AnyLowerJob(QueueId queue, const Precedence& rank) const {
  if (!MayHaveLowerJob(snapshot(), queue, rank)) return false;
  if (!EvictsByLeft(snapshot().config())) return true;
  const std::span<const JobId> placed = PlacedIn(snapshot().books(), queue);
  if (placed.empty()) return false;
  const auto [known, fresh] = lowest_.try_emplace(queue);
  if (fresh) {
    known->second = PrecedenceOf(snapshot(), snapshot().job(placed.front()));
    for (const JobId job : placed) {
      known->second = std::min(known->second, PrecedenceOf(snapshot(), snapshot().job(job)));
    }
  }
  return known->second < rank;
}

// What jobs of the queue hold that a job of this rank may preempt.
Resources VictimBook::LowerJobsHold(QueueId queue, const Precedence& rank) {
  if (!AnyLowerJob(queue, rank)) return {};
  const std::vector<Candidate>& candidates = CandidatesFor(queue);
  LowerJobs& jobs = lower_jobs_[queue];
  if (std::exchange(jobs.seen, changes_) != changes_) {
    jobs.sums.clear();
    for (const Candidate& candidate : candidates) {
      if (snapshot().job(candidate.job).queue != queue) continue;
      auto& sum = jobs.sums.emplace_back(candidate.rank, Resources{}).second;
      for (const Candidate::Victim& victim : candidate.victims) {
        if (!victim.evicted) sum.Add(victim.holds);
      }
    }
    std::sort(jobs.sums.begin(), jobs.sums.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 1; i < jobs.sums.size(); ++i) {
      jobs.sums[i].second.Add(jobs.sums[i - 1].second);
    }
  }
  const auto end = std::partition_point(jobs.sums.begin(), jobs.sums.end(),
                                        [&](const auto& one) { return one.first < rank; });
  return end == jobs.sums.begin() ? Resources{} : std::prev(end)->second;
}

Resources VictimBook::LowerJobsHold(JobId id) {
  const JobRow& job = snapshot().job(id);
  return LowerJobsHold(job.queue, PrecedenceOf(snapshot(), job));
}

const std::vector<Candidate>& VictimBook::candidates() {
  for (std::size_t q = 0; q < snapshot().books().placed.size(); ++q) ToList(QueueId(q));
  return List();
}

// Without reclaim only jobs of the gang's own queue can be evicted.
const std::vector<Candidate>& VictimBook::CandidatesFor(QueueId queue) {
  if (snapshot().config().enables("reclaim")) return candidates();
  ToList(queue);
  return List();
}

void VictimBook::ToList(QueueId queue) {
  if (!listed_.insert(queue).second) return;
  const std::span<const JobId> placed = PlacedIn(snapshot().books(), queue);
  to_list_.insert(to_list_.end(), placed.begin(), placed.end());
}

const std::vector<Candidate>& VictimBook::List() {
  if (to_list_.empty()) return candidates_;
  const Books& books = snapshot().books();
  std::vector<JobId> jobs = std::move(to_list_);
  to_list_.clear();
  // By uid and not by slot in State, so that the order is the same after a resync.
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) {
    return books.jobs[a.index()].uid < books.jobs[b.index()].uid;
  });
  ++changes_;
  std::size_t c = candidates_.size();
  for (const JobId job : jobs) {
    if (!placed_.contains(job)) AddCandidate(job);
  }
  for (; c < candidates_.size(); ++c) {
    by_job_[candidates_[c].job] = static_cast<std::uint32_t>(c);
  }
  return candidates_;
}

std::optional<std::int64_t> VictimBook::PriceOf(TaskId task) {
  return price_ ? price_(task)
                : later_.policies().victims->Cost(snapshot(), queues().shares(), task);
}

void VictimBook::AddCandidate(JobId id) {
  const JobRow& job = snapshot().job(id);
  if (!job.live || job.keeps_room() || job.counted() == 0) return;
  Candidate candidate;
  candidate.job = id;
  candidate.rank = PrecedenceOf(snapshot(), job);
  GangCounts::Surplus surplus = GangCounts(job).surplus();
  candidate.surplus = surplus.all;
  candidate.role_surplus = std::move(surplus.by_role);
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const RoleRow& role = job.roles[r];
    for (const TaskId task_id : role.tasks) {
      const TaskRow& task = snapshot().task(task_id);
      // A binding that is under way must end first.
      if (task.phase == TaskPhase::kAssumed) candidate.whole = false;
      if (task.phase != TaskPhase::kRunning) continue;
      const auto cost = PriceOf(task_id);
      if (!cost.has_value() || !snapshot().hardware().present(task.node)) {
        candidate.whole = false;
        continue;
      }
      candidate.victims.push_back(
          {task_id, r, *cost,
           HoldingsOf(snapshot().hardware(), snapshot().cls(task.cls), task.node, task.slices),
           later_.policies().worth->LossOf(snapshot(), task_id, snapshot().now())});
      candidate.kinds |= candidate.victims.back().holds.NonZero();
    }
  }
  if (candidate.victims.empty()) return;
  candidate.left = static_cast<std::uint32_t>(candidate.victims.size());
  candidate.alone = wait_ != nullptr && candidate.whole;
  for (Candidate::Victim& victim : candidate.victims) {
    if (!candidate.alone) break;
    const auto wait = wait_(victim.task);
    candidate.alone = wait.has_value();
    victim.wait = wait.value_or(0);
  }
  if (!candidate.whole && candidate.surplus == 0) return;
  candidates_.push_back(std::move(candidate));
}

void VictimBook::Placed(JobId job) {
  placed_.insert(job);
  const auto known = by_job_.find(job);
  if (known == by_job_.end()) return;
  ++changes_;
  Candidate& candidate = candidates_[known->second];
  candidate.left = 0;
  for (Candidate::Victim& victim : candidate.victims) victim.evicted = true;
}

bool VictimBook::WithinBudgets(const std::vector<VictimRef>& victims) const {
  const auto& allowed = snapshot().books().disruption_budgets;
  if (allowed.empty()) return true;
  std::map<std::string, std::int32_t> drawn;
  for (const VictimRef ref : victims) {
    for (const std::string& budget : *snapshot().task(at(ref).task).disruption_budgets) {
      ++drawn[budget];
    }
  }
  return std::all_of(drawn.begin(), drawn.end(), [&](const auto& one) {
    const auto budget = allowed.find(one.first);
    if (budget == allowed.end()) return true;
    const auto before = drawn_.find(one.first);
    return one.second + (before == drawn_.end() ? 0 : before->second) <= budget->second;
  });
}

bool VictimBook::Breaks(std::span<const VictimRef> of_one) const {
  const Candidate& candidate = candidates_[of_one[0].candidate];
  if (of_one.size() > static_cast<std::size_t>(candidate.surplus)) return true;
  std::vector<std::int32_t> left = candidate.role_surplus;
  return std::any_of(of_one.begin(), of_one.end(),
                     [&](VictimRef ref) { return --left[at(ref).role] < 0; });
}

EvictionCost VictimBook::CostOf(std::span<const VictimRef> victims) const {
  EvictionCost cost;
  for (std::size_t i = 0; i < victims.size();) {
    const std::size_t end = EndOfJob(victims, i);
    if (Breaks(victims.subspan(i, end - i))) {
      const Candidate& candidate = of(victims[i]);
      cost.gangs += EvictionCost::kGang;
      if (candidate.alone) cost.sum += candidate.wait();
      for (std::size_t k = i; k < end && candidate.alone; ++k) cost.sum -= at(victims[k]).wait;
    }
    for (; i < end; ++i) cost += {0, 1, at(victims[i]).cost};
  }
  return cost;
}

void VictimBook::Draw(TaskId task) {
  for (const std::string& budget : *snapshot().task(task).disruption_budgets) ++drawn_[budget];
}

void VictimBook::Evicted(const std::vector<VictimRef>& victims) {
  ++changes_;
  for (std::size_t i = 0; i < victims.size();) {
    Candidate& candidate = candidates_[victims[i].candidate];
    const std::size_t end = EndOfJob(victims, i), count = end - i;
    for (std::size_t k = i; k < end; ++k) {
      const Candidate::Victim& victim = at(victims[k]);
      Draw(victim.task);
      --candidate.role_surplus[victim.role];
      --candidate.surplus;
    }
    for (; i < end; ++i) candidate.victims[victims[i].victim].evicted = true;
    candidate.left -= static_cast<std::uint32_t>(count);
  }
}

}  // namespace tephra
