#include "engine/cycle.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/wake_ups.h"

namespace tephra {
namespace {

// The pending jobs with a reservation that are not asked: it stands. A job that may lose it to a
// job that is due becomes due too. Within one queue the order says which jobs may lose theirs; of
// several queues any job may. A job that starts now as reserved takes nothing from other jobs.
std::vector<JobId> TakeStanding(const Snapshot& snapshot, const Policies& policies, Due& due) {
  std::vector<JobId> standing;
  if (policies.reservations == nullptr || due.empty()) return standing;
  const WaitingLines& lines = snapshot.books().lines;
  const auto before = [&](JobId a, JobId b) { return policies.order->Before(snapshot, a, b); };
  JobId first;  // of the jobs that may take something
  bool one_queue = true;
  const auto may_take = [&](JobId id) {
    one_queue =
        one_queue && (!first.valid() || snapshot.job(id).queue == snapshot.job(first).queue);
    if (!first.valid() || before(id, first)) first = id;
  };
  for (const JobId id : due.jobs) {
    const TimeMs at = snapshot.job(id).reservation.at;
    if (at == 0 || at > snapshot.now()) may_take(id);
  }
  for (const LineId line : due.lines) may_take(lines.line(line).First()->job);
  std::sort(due.jobs.begin(), due.jobs.end());
  for (const JobId id : snapshot.books().reserved_starts) {
    const JobRow& job = snapshot.job(id);
    if (job.reservation.at == 0 || job.waiting_at == JobRow::kNotWaiting) continue;
    if (!std::binary_search(due.jobs.begin(), due.jobs.end(), id)) standing.push_back(id);
  }
  const auto stands = std::partition(standing.begin(), standing.end(), [&](JobId id) {
    const JobRow& job = snapshot.job(id);
    const LineId line = lines.LineOf(id);
    if (line.valid() && std::binary_search(due.lines.begin(), due.lines.end(), line)) return true;
    if (job.reservation.at <= snapshot.now()) return true;
    return first.valid() &&
           !(one_queue && job.queue == snapshot.job(first).queue && before(id, first));
  });
  if (stands != standing.begin()) {
    // What one of these loses may help any job that was not to delay it.
    AddAll(snapshot.books(), due);
    return {};
  }
  std::sort(standing.begin(), standing.end(), before);
  return standing;
}

// Whether followers of the plan have to know: it takes, leaves or frees room.
bool Counts(const Snapshot& snapshot, const Decision& decision) {
  return !decision.placements.empty() || !decision.evictions.empty() ||
         (decision.part == Part::kMinimum && snapshot.job(decision.job).keeps_room());
}

// More members of the job that was decided last.
bool Joins(const Plan& plan, const Decision& decision) {
  if (plan.decisions.empty() || decision.part != Part::kElastic) return false;
  const Decision& last = plan.decisions.back();
  return decision.verdict == Verdict::kStart && last.verdict == decision.verdict &&
         last.part == decision.part && last.job == decision.job;
}

}  // namespace

Cycle::Cycle(const Snapshot& snapshot, const Policies& policies, Due due,
             CycleTools& tools, CycleObserver* observer)
    : snapshot_(snapshot),
      policies_(policies),
      tools_(tools),
      observer_(observer),
      due_(std::move(due)),
      plan_{snapshot.version(), snapshot.now(), {}, {}},
      now_charges_(tools.now.ledger()),
      later_(tools.now, tools.later, plan_) {
  tools.now.Begin(snapshot, policies);
  tools.empty.Begin(snapshot, policies);
  tools.proofs.Begin(snapshot);
  tools.verifier.Begin(snapshot);
  standing_ = TakeStanding(snapshot, policies, due_);
  std::sort(due_.jobs.begin(), due_.jobs.end(),
            [&](JobId a, JobId b) { return policies.order->Before(snapshot, a, b); });
  if (policies.reservations == nullptr) return;
  tools.ahead.Begin(snapshot, policies);
  reservation_plan_ = policies.reservations->Begin(tools.now, tools.ahead, due_, standing_);
}

Line& Cycle::line() {
  if (line_ == nullptr) line_ = policies_.order->LineUp(later_.ledger(), due_);
  return *line_;
}

bool Cycle::Verified(const Decision& decision) {
  if (decision.verdict == Verdict::kStartAfterEviction || decision.verdict == Verdict::kUnwind) {
    tools_.verifier.LookAhead();
  }
  const std::string fault = tools_.verifier.Check(decision);
  if (fault.empty()) return true;
  plan_.dropped.push_back(decision.job);
  if (!decision.evictions.empty()) later_.ForgetSelections();
  if (observer_ != nullptr) observer_->DecisionDropped(snapshot_, decision, fault);
  return false;
}

void Cycle::Follow(const Decision& decision, const Attempt* tried) {
  if (!Counts(snapshot_, decision)) return;
  const auto charged_on = [&](const Ledger& ledger) {
    return tried != nullptr && &tried->ledger() == &ledger;
  };
  if (charged_on(tools_.now.ledger())) {
    now_charges_.Charged(decision);
  } else {
    now_charges_.Charge(decision);
  }
  later_.Follow(decision, charged_on(tools_.later.ledger()));
  for (const TaskId task : decision.evictions) {
    const JobId victim = snapshot_.task(task).job;
    if (victim == decision.job) continue;
    evicted_.insert(victim);
    if (line_ != nullptr) line_->Left(snapshot_.job(victim).queue);
  }
  if (reservation_plan_ != nullptr) reservation_plan_->Follow(decision);
  if (decision.part == Part::kMinimum && snapshot_.job(decision.job).keeps_room()) {
    tools_.proofs.RoomCame();
    if (line_ != nullptr) line_->Reopen();
  }
}

bool Cycle::Commit(Decision decision, Attempt* tried) {
  if (!Verified(decision)) return false;
  if (tried != nullptr) tried->Keep();
  Follow(decision, tried);
  if (Joins(plan_, decision)) {
    std::vector<Placement>& all = plan_.decisions.back().placements;
    std::move(decision.placements.begin(), decision.placements.end(), std::back_inserter(all));
  } else {
    plan_.decisions.push_back(std::move(decision));
  }
  return true;
}

bool Cycle::Replace(std::size_t index, Decision decision, Attempt* tried) {
  if (!Counts(snapshot_, decision)) {
    if (!Verified(decision)) return false;
    plan_.decisions[index] = std::move(decision);
    return true;
  }
  if (!Commit(std::move(decision), tried)) return false;
  replaced_.insert(index);
  return true;
}

void Cycle::CloseLine(JobId job, DurationMs from) {
  plan_.line_answers.push_back({job, from});
  line().Close(snapshot_.books().lines.LineOf(job), from);
}

void Cycle::AskAgain(TimeMs at) {
  TimeMs& next = plan_.ask_again_at;
  next = next == 0 ? at : std::min(next, at);
}

Plan Cycle::Finish() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < plan_.decisions.size(); ++i) {
    if (replaced_.contains(i)) continue;
    if (kept != i) plan_.decisions[kept] = std::move(plan_.decisions[i]);
    ++kept;
  }
  plan_.decisions.resize(kept);
  if (reservation_plan_ != nullptr) plan_.starts_confirmed = reservation_plan_->Confirmed();
  tools_.now.ledger().Settle();
  return std::move(plan_);
}

}  // namespace tephra
