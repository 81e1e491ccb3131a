#include "plugins/framework/cycle.h"

#include <algorithm>
#include <set>

namespace tephra {
namespace {

// A new shape each cycle that never fits is not remembered for ever.
constexpr std::size_t kMostProofs = 1 << 16;

// Takes back the decisions from `first` on that do not verify, on the ledger too.
void DropUnsound(const Snapshot& snapshot, CycleTools& tools, Plan& plan, std::size_t first,
                 CycleObserver* observer) {
  const bool evicts =
      std::any_of(plan.decisions.begin() + static_cast<std::ptrdiff_t>(first), plan.decisions.end(),
                  [](const Decision& one) { return one.verdict == Verdict::kStartAfterEviction; });
  if (evicts) tools.verifier.LookAhead();
  std::size_t kept = first;
  for (std::size_t i = first; i < plan.decisions.size(); ++i) {
    Decision& decision = plan.decisions[i];
    const std::string fault = tools.verifier.Check(decision);
    if (fault.empty()) {
      if (kept != i) plan.decisions[kept] = std::move(decision);
      ++kept;
      continue;
    }
    const QueueId queue = snapshot.job(decision.job).queue;
    for (const Placement& placement : decision.placements) {
      tools.now.ledger().Uncharge(snapshot.task(placement.task).cls, queue, placement);
    }
    for (const Placement& move : decision.moves) {
      const TaskRow& task = snapshot.task(move.task);
      tools.now.ledger().Uncharge(task.cls, snapshot.job(task.job).queue, move);
    }
    plan.dropped.push_back(decision.job);
    if (observer != nullptr) observer->DecisionDropped(snapshot, decision, fault);
  }
  plan.decisions.resize(kept);
}

// Where a later action found a way, the no of an earlier one is not told.
void DropAnsweredNos(Plan& plan) {
  std::set<JobId> starting;
  for (const Decision& decision : plan.decisions) {
    if (!decision.moves.empty()) starting.insert(decision.job);
  }
  if (starting.empty()) return;
  std::erase_if(plan.decisions, [&](const Decision& one) {
    return one.part == Part::kMinimum && one.verdict == Verdict::kWait &&
           starting.contains(one.job);
  });
}

}  // namespace

Proofs::Shape Proofs::ShapeOf(const GangAsk& ask) {
  Shape shape;
  shape.reserve(3 * ask.roles.size() + 1);
  for (const RoleAsk& role : ask.roles) {
    shape.push_back(role.cls.value);
    shape.push_back(static_cast<std::uint32_t>(role.least));
    shape.push_back(static_cast<std::uint32_t>(role.tasks.size()));
  }
  shape.push_back(static_cast<std::uint32_t>(ask.least));
  if (ask.without != 0) shape.push_back(ask.without);
  const auto add = [&](const Nearness& nearness) {
    if (!nearness.tied()) return;
    shape.push_back(static_cast<std::uint32_t>(nearness.highest_tier));
    shape.push_back(nearness.around.first);
    shape.push_back(nearness.around.last);
  };
  add(ask);
  for (const GroupAsk& group : ask.groups) {
    shape.push_back(kNoGroup);  // no least is as large
    shape.push_back(static_cast<std::uint32_t>(group.least));
    shape.push_back(static_cast<std::uint32_t>(group.end_role - group.first_role));
    add(group);
  }
  return shape;
}

void Proofs::Begin(const Snapshot& snapshot) {
  const Books& books = snapshot.books();
  // A class id that was given to another class makes every shape that names it a lie.
  const std::uint64_t classes = books.classes.generations();
  now.clear();
  relief.clear();
  if (hardware_ != books.hardware.version() || config_ != books.config_version ||
      classes_ != classes || empty.size() > kMostProofs) {
    empty.clear();
  }
  hardware_ = books.hardware.version();
  config_ = books.config_version;
  classes_ = classes;
}

Later::~Later() {
  if (begun_) bench_.ledger().RollBackTo(0);
}

Workbench& Later::bench() {
  if (begun_) return bench_;
  begun_ = true;
  bench_.Begin(now_.ledger().snapshot(), now_.policies());
  for (const Decision& decision : plan_.decisions) Charge(decision);
  return bench_;
}

Relief& Later::relief() {
  if (relief_ == nullptr) {
    relief_ = now_.policies().eviction->Begin(bench());
    for (const Decision& decision : plan_.decisions) Settle(decision);
  }
  return *relief_;
}

const Ledger& Later::ledger() {
  const bool same = !begun_ && now_.ledger().snapshot().books().releasing.empty();
  return same ? now_.ledger() : bench().ledger();
}

void Later::Follow(const Decision& decision) {
  if (begun_) Charge(decision);
  if (relief_ != nullptr) Settle(decision);
}

// Who is placed, or gives up what is left of it, is nobody's victim.
void Later::Settle(const Decision& decision) {
  if (!decision.placements.empty() || !decision.evictions.empty()) relief_->Placed(decision.job);
}

void Later::Charge(const Decision& decision) {
  Ledger& ledger = bench_.ledger();
  const Snapshot& snapshot = ledger.snapshot();
  for (const TaskId task : decision.evictions) {
    if (snapshot.hardware().present(snapshot.task(task).node)) ledger.Free(task);
  }
  const JobRow& job = snapshot.job(decision.job);
  if (decision.part == Part::kMinimum && job.keeps_room()) FreeHolds(ledger, job);
  for (const Placement& placement : decision.placements) {
    const TaskRow& task = snapshot.task(placement.task);
    if (decision.part == Part::kElastic && task.berth.valid() && !StartsWhole(decision.job)) {
      FreeBerth(ledger, task.berth);
    }
    ledger.Charge(task.cls, job.queue, placement);
  }
  for (const Placement& move : decision.moves) {
    const TaskRow& task = snapshot.task(move.task);
    ledger.Charge(task.cls, snapshot.job(task.job).queue, move);
  }
}

// The plan says something of its minimum, which leaves all that was kept for it.
bool Later::StartsWhole(JobId job) const {
  return std::any_of(plan_.decisions.begin(), plan_.decisions.end(), [&](const Decision& one) {
    return one.job == job && one.part == Part::kMinimum;
  });
}

void FreeBerth(Ledger& ledger, TaskId berth) {
  const Snapshot& snapshot = ledger.snapshot();
  if (snapshot.hardware().present(snapshot.task(berth).node)) ledger.Free(berth);
}

void FreeHolds(Ledger& ledger, const JobRow& job) {
  const Snapshot& snapshot = ledger.snapshot();
  for (const RoleRow& role : job.roles) {
    for (const TaskId task : role.tasks) {
      const TaskRow& row = snapshot.task(task);
      if (row.berth.valid()) FreeBerth(ledger, row.berth);
      if (row.phase == TaskPhase::kHeld && snapshot.hardware().present(row.node)) ledger.Free(task);
    }
  }
}

// Those that wait with a promise and are not asked: it stands. Whoever may lose it to somebody due
// is due too; within one queue the order tells who may, among several nobody does. Who starts now
// because it was promised takes nothing from anybody.
std::vector<JobId> TakeStanding(const Snapshot& snapshot, const Policies& policies,
                                std::vector<JobId>& due) {
  std::vector<JobId> standing;
  if (policies.reservations == nullptr || due.empty()) return standing;
  const auto before = [&](JobId a, JobId b) { return policies.order->Before(snapshot, a, b); };
  JobId first;  // of those that may take something
  bool one_queue = true;
  for (const JobId id : due) {
    const TimeMs at = snapshot.job(id).promise.at;
    if (at != 0 && at <= snapshot.now()) continue;
    one_queue =
        one_queue && (!first.valid() || snapshot.job(id).queue == snapshot.job(first).queue);
    if (!first.valid() || before(id, first)) first = id;
  }
  std::sort(due.begin(), due.end());
  for (const JobId id : snapshot.books().waiting) {
    if (snapshot.job(id).promise.at == 0) continue;
    if (!std::binary_search(due.begin(), due.end(), id)) standing.push_back(id);
  }
  const auto stands = std::partition(standing.begin(), standing.end(), [&](JobId id) {
    const JobRow& job = snapshot.job(id);
    if (job.promise.at <= snapshot.now()) return true;
    return first.valid() &&
           !(one_queue && job.queue == snapshot.job(first).queue && before(id, first));
  });
  due.insert(due.end(), standing.begin(), stands);
  standing.erase(standing.begin(), stands);
  std::sort(standing.begin(), standing.end(), before);
  return standing;
}

Plan RunCycle(const Snapshot& snapshot, const Policies& policies,
              const std::vector<std::unique_ptr<Action>>& actions, std::vector<JobId> due,
              CycleTools& tools, CycleObserver* observer) {
  Plan plan{snapshot.version(), snapshot.now(), {}, {}};
  tools.now.Begin(snapshot, policies);
  tools.empty.Begin(snapshot, policies);
  tools.proofs.Begin(snapshot);
  tools.verifier.Begin(snapshot);
  const std::vector<JobId> standing = TakeStanding(snapshot, policies, due);
  std::sort(due.begin(), due.end(),
            [&](JobId a, JobId b) { return policies.order->Before(snapshot, a, b); });
  Later later(tools.now, tools.later, plan);
  Cycle cycle{snapshot, policies, tools.now, tools.empty, later, tools.proofs, due, plan, standing};
  std::unique_ptr<Agenda> agenda;
  if (policies.reservations != nullptr) {
    tools.ahead.Begin(snapshot, policies);
    agenda = policies.reservations->Begin(tools.now, tools.ahead, due, standing);
    cycle.agenda = agenda.get();
  }
  for (const auto& action : actions) {
    if (!snapshot.config().enables(action->name())) continue;
    const std::size_t first = plan.decisions.size();
    if (observer != nullptr) observer->PassBegins(action->name());
    action->Run(cycle);
    DropUnsound(snapshot, tools, plan, first, observer);
    if (observer != nullptr) observer->PassEnds(action->name());
  }
  DropAnsweredNos(plan);
  tools.now.ledger().Settle();
  return plan;
}

}  // namespace tephra
