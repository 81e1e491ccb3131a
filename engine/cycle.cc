#include "engine/cycle.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/wake_ups.h"

namespace tephra {
namespace {

// Whether these jobs have their turn before all others that are due. `due.jobs` are not sorted.
bool GoAhead(const Ledger& ledger, const Order& order, const std::vector<JobId>& jobs, Due due) {
  due.jobs.insert(due.jobs.end(), jobs.begin(), jobs.end());
  std::sort(due.jobs.begin(), due.jobs.end(),
            [&](JobId a, JobId b) { return order.Before(ledger.snapshot(), a, b); });
  const auto line = order.LineUp(ledger, due);
  for (std::size_t ahead = 0; ahead < jobs.size(); ++ahead) {
    if (std::find(jobs.begin(), jobs.end(), line->Next(ledger)) == jobs.end()) return false;
  }
  return true;
}

// The pending jobs with a reservation that are not asked: it stands. If one of these may lose it to a
// job that is due, each job becomes due that what it loses may help. The
// order says which jobs may lose theirs; if all jobs are to have a reservation, any job may lose it
// to a job of another queue. A job that starts now as reserved takes nothing from other jobs.
std::vector<JobId> TakeStanding(const Snapshot& snapshot, const Ledger& ledger,
                                const Policies& policies, Due& due) {
  std::vector<JobId> standing;
  if (policies.reservations == nullptr || due.empty()) return standing;
  const WaitingLines& lines = snapshot.books().lines;
  const auto before = [&](JobId a, JobId b) { return policies.order->Before(snapshot, a, b); };
  Due takers{{}, due.lines, false, due.evicts};  // jobs that may take something
  JobId first;                // of these
  bool one_queue = true;
  const auto of_queue = [&](JobId id) {
    if (!first.valid()) first = id;
    one_queue = one_queue && snapshot.job(id).queue == snapshot.job(first).queue;
  };
  const auto may_take = [&](JobId id) {
    of_queue(id);
    if (before(id, first)) first = id;
  };
  for (const JobId id : due.jobs) {
    const TimeMs at = snapshot.job(id).reservation->at;
    if (at != 0 && at <= snapshot.now()) continue;
    may_take(id);
    takers.jobs.push_back(id);
  }
  for (const LineId line : due.lines) may_take(lines.line(line).First()->job);
  if (due.evicts) {
    for (std::size_t q = 0; q < snapshot.queues().size(); ++q) {
      if (const JobId of = lines.FirstOf(QueueId(q)); of.valid()) may_take(of);
    }
  }
  std::sort(due.jobs.begin(), due.jobs.end());
  bool asked = false;  // one of them is
  for (const JobId id : snapshot.books().reserved_starts) {
    const JobRow& job = snapshot.job(id);
    if (job.reservation->at == 0 || job.waiting_at == JobRow::kNotWaiting) continue;
    if (std::binary_search(due.jobs.begin(), due.jobs.end(), id)) continue;
    standing.push_back(id);
    of_queue(id);
    const LineId line = lines.LineOf(id);
    asked = asked || job.reservation->at <= snapshot.now() ||
            (line.valid() && std::binary_search(due.lines.begin(), due.lines.end(), line));
  }
  const auto all_stand = [&] {
    if (asked) return false;
    if (standing.empty() || takers.empty()) return true;
    if (one_queue) {
      return std::all_of(standing.begin(), standing.end(),
                         [&](JobId id) { return before(id, first); });
    }
    return !policies.reservations->ReservesAll() &&
           GoAhead(ledger, *policies.order, standing, takers);
  };
  if (!all_stand()) {
    policies.reservations->ReservesAll() ? AddAll(snapshot.books(), due)
                                         : AddAfterLostReservation(snapshot.books(), due);
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
  standing_ = TakeStanding(snapshot, tools.now.ledger(), policies, due_);
  std::sort(due_.jobs.begin(), due_.jobs.end(),
            [&](JobId a, JobId b) { return policies.order->Before(snapshot, a, b); });
  if (policies.reservations == nullptr) return;
  tools.ahead.Begin(snapshot, policies);
  reservation_plan_ = policies.reservations->Begin(tools.now, tools.ahead, due_, standing_,
                                                  tools.reservations);
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
  if (!decision.placements.empty()) taken_.insert(decision.job);
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

bool Cycle::GoOnElsewhere(std::size_t index, const std::vector<Placement>& places, Attempt& tried) {
  Decision& decision = plan_.decisions[index];
  const std::string fault = tools_.verifier.CheckPlaces(decision, places);
  if (!fault.empty()) {
    if (observer_ != nullptr) observer_->DecisionDropped(snapshot_, decision, fault);
    return false;
  }
  tried.Keep();
  for (const Placement& place : places) {
    const TaskRow& task = snapshot_.task(place.task);
    tools_.now.ledger().Charge(task.cls, snapshot_.job(task.job).queue, place);
    decision.moves.push_back(place);
  }
  return true;
}

void Cycle::CloseLine(JobId job, DurationMs from, bool every_queue) {
  plan_.line_answers.push_back({job, from, every_queue});
  const WaitingLines& lines = snapshot_.books().lines;
  const LineId id = lines.LineOf(job);
  line().Close(id, from);
  if (every_queue) line().Close(lines.ShapeOf(id), from);
}

void Cycle::CloseShape(ShapeId shape, DurationMs from, bool reserved) {
  if (reserved) plan_.reserved_shapes.push_back(shape);
  line().Close(shape, from);
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
