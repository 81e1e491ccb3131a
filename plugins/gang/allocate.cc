#include "plugins/gang/allocate.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "plugins/gang/shortage.h"

namespace tephra {
namespace {

// What the gang lacks to run at all. Tasks that run already count: a gang of which one member
// restarts is completed.
GangAsk MissingMinimum(const Snapshot& snapshot, JobId id) {
  const JobRow& job = snapshot.job(id);
  GangAsk ask{id, job.queue, {}, 0};
  std::int32_t role_least = 0, counted = 0;
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const RoleRow& role = job.roles[r];
    counted += role.counted;
    const std::int32_t least = std::max(0, role.min - role.counted);
    role_least += least;
    if (least == 0 && role.pending == 0) continue;
    RoleAsk& part = ask.roles.emplace_back(RoleAsk{r, role.cls, least, {}});
    part.tasks.reserve(static_cast<std::size_t>(role.pending));
    for (TaskId task : role.tasks) {
      if (snapshot.task(task).phase == TaskPhase::kPending) part.tasks.push_back(task);
    }
  }
  ask.least = std::max(role_least, job.min_member - counted);
  return ask;
}

// What the tasks that must be placed take at the least, as far as it is known before devices are
// chosen: of each kind, the roles' minimums and then the cheapest tasks.
Resources LeastDemand(const Snapshot& snapshot, const GangAsk& ask) {
  Resources demand;
  std::int32_t open = ask.least;
  for (const RoleAsk& role : ask.roles) {
    demand.Add(snapshot.cls(role.cls).demand, role.least);
    open -= role.least;
  }
  if (open == 0) return demand;
  std::vector<std::pair<std::int64_t, std::int32_t>> offers;  // demand of a task, tasks
  for (Kind k = 0; k < kMaxKinds; ++k) {
    offers.clear();
    for (const RoleAsk& role : ask.roles) {
      offers.emplace_back(snapshot.cls(role.cls).demand[k],
                          static_cast<std::int32_t>(role.tasks.size()) - role.least);
    }
    std::sort(offers.begin(), offers.end());
    std::int32_t left = open;
    for (const auto& [amount, tasks] : offers) {
      demand[k] += amount * std::min(left, tasks);
      left -= std::min(left, tasks);
    }
  }
  return demand;
}

// Tasks of the role that a pod stands for, or stood for until it succeeded.
std::int64_t PodsOf(const Snapshot& snapshot, const RoleRow& role) {
  return std::count_if(role.tasks.begin(), role.tasks.end(), [&](TaskId task) {
    return snapshot.task(task).phase != TaskPhase::kAbsent;
  });
}

// Fewer tasks ask to run than the minimum takes.
std::optional<Reason> MissingMembers(const Snapshot& snapshot, const GangAsk& ask) {
  const JobRow& job = snapshot.job(ask.job);
  Reason reason;
  reason.obstacle = Obstacle::kMembers;
  std::int64_t asking = 0;
  for (const RoleAsk& role : ask.roles) {
    asking += static_cast<std::int64_t>(role.tasks.size());
    if (static_cast<std::size_t>(role.least) <= role.tasks.size()) continue;
    const RoleRow& row = job.roles[role.role];
    reason.role = row.name;
    reason.tasks_needed = role.least;
    reason.tasks_fit = static_cast<std::int64_t>(role.tasks.size());
    if (job.pods_exist) {
      reason.pods_there = PodsOf(snapshot, row);
      reason.pods_needed = row.min;
    }
    return reason;
  }
  if (asking >= ask.least) return std::nullopt;
  reason.tasks_needed = ask.least;
  reason.tasks_fit = asking;
  if (job.pods_exist) {
    for (const RoleRow& role : job.roles) reason.pods_there += PodsOf(snapshot, role);
    reason.pods_needed = job.min_member;
  }
  return reason;
}

class Pass {
 public:
  explicit Pass(Cycle& cycle) : cycle_(cycle) {}

  // What the gang lacks to run, unless it has to wait behind `ahead`. True where nobody has to wait
  // for it any more.
  bool PlaceMinimum(JobId id, JobId ahead) {
    if (cycle_.snapshot.job(id).quarantined) {
      Reason reason;
      reason.obstacle = Obstacle::kQuarantine;
      Say(id, Part::kMinimum, Verdict::kWait, std::move(reason), {});
      return false;
    }
    if (cycle_.snapshot.job(id).satisfied()) {
      elastic_.push_back({id, kNoDecision});
      return true;
    }
    // One of which some run already is in the middle of its turn.
    if (ahead.valid() && cycle_.snapshot.job(id).counted() == 0) {
      const Standing& said = cycle_.snapshot.job(id).standing;
      if (said.asked && said.reason.obstacle == Obstacle::kBehind &&
          said.reason.ahead == cycle_.snapshot.job(ahead).name) {
        return false;
      }
      Reason reason;
      reason.obstacle = Obstacle::kBehind;
      reason.queue = cycle_.snapshot.job(id).queue_name;
      reason.ahead = cycle_.snapshot.job(ahead).name;
      Say(id, Part::kMinimum, Verdict::kWait, std::move(reason), {});
      return false;
    }
    const GangAsk ask = MissingMinimum(cycle_.snapshot, id);
    if (auto reason = MissingMembers(cycle_.snapshot, ask)) {
      Say(id, Part::kMinimum, Verdict::kWait, std::move(*reason), {});
      return false;
    }
    if (auto reason = Denied(ask, LeastDemand(cycle_.snapshot, ask))) {
      SayNo(id, Verdict::kWait, std::move(*reason));
      return false;
    }
    Attempt attempt(cycle_.now.ledger());
    const Resources before = QueueHolds(ask);
    const Placer::Answer answer = Ask(cycle_.now, cycle_.proofs.now, ask);
    if (answer.outcome != Placer::Outcome::kPlaced) {
      SayShort(ask, answer);
      return false;
    }
    if (auto reason = DeniedSince(before, ask)) {
      SayNo(id, Verdict::kWait, std::move(*reason));
      return false;
    }
    const bool more = ask.least < cycle_.snapshot.job(id).pending();
    Say(id, Part::kMinimum, Verdict::kStart, {}, attempt.Keep());
    if (more) elastic_.push_back({id, cycle_.plan.decisions.size() - 1});
    return true;
  }

  // One by one: each elastic member stands for itself.
  void PlaceElastic() {
    for (const auto& [id, started] : elastic_) {
      std::vector<Placement> placed;
      std::optional<Reason> no;
      ClassId failed;  // equal members are one question
      for (const GangAsk& one : ElasticMembers(id, started)) {
        if (one.roles[0].cls == failed) continue;
        Attempt attempt(cycle_.now.ledger());
        const Resources before = QueueHolds(one);
        if (auto reason = Denied(one, cycle_.snapshot.cls(one.roles[0].cls).demand)) {
          no = std::move(reason);
          failed = one.roles[0].cls;
          continue;
        }
        const Placer::Answer answer = cycle_.policies.placer->Place(cycle_.now, one);
        if (answer.outcome != Placer::Outcome::kPlaced) {
          if (!no) no = ShortageReason(cycle_.now, one, answer);
          failed = one.roles[0].cls;
          continue;
        }
        if (auto reason = DeniedSince(before, one)) {
          no = std::move(reason);
          failed = one.roles[0].cls;
          continue;
        }
        for (Placement& placement : attempt.Keep()) placed.push_back(std::move(placement));
      }
      if (!placed.empty()) Say(id, Part::kElastic, Verdict::kStart, {}, std::move(placed));
      if (no) Say(id, Part::kElastic, Verdict::kWait, std::move(*no), {});
    }
  }

 private:
  std::optional<Reason> Denied(const GangAsk& ask, const Resources& extra) {
    return cycle_.policies.entitlement->Deny(cycle_.now.ledger(), ask.job, extra, Resources{});
  }
  // The same of what was charged since `before`: which tasks run, and how much memory whole
  // devices have, is known only after placement.
  std::optional<Reason> DeniedSince(const Resources& before, const GangAsk& ask) {
    const Resources tried = QueueHolds(ask).Add(before, -1);
    return cycle_.policies.entitlement->Deny(cycle_.now.ledger(), ask.job, Resources{}, tried);
  }
  Resources QueueHolds(const GangAsk& ask) const {
    return cycle_.now.ledger().occupancy().queue_total(ask.queue);
  }

  // A proof of impossibility is kept for gangs of the same shape: charges only took room since.
  Placer::Answer Ask(Workbench& bench, std::map<Proofs::Shape, Placer::Answer>& proofs,
                     const GangAsk& ask) {
    if (!proofs.empty()) {
      const auto known = proofs.find(Proofs::ShapeOf(ask));
      if (known != proofs.end()) return known->second;
    }
    const Placer::Answer answer = cycle_.policies.placer->Place(bench, ask);
    if (answer.outcome != Placer::Outcome::kPlaced) proofs.emplace(Proofs::ShapeOf(ask), answer);
    return answer;
  }

  // Never, if not even the empty cluster would do; else not now.
  void SayShort(const GangAsk& ask, const Placer::Answer& now) {
    const auto known = cycle_.proofs.empty.find(Proofs::ShapeOf(ask));
    Placer::Answer ever;
    if (known != cycle_.proofs.empty.end()) {
      ever = known->second;
    } else {
      Attempt attempt(cycle_.empty.ledger());
      ever = cycle_.policies.placer->Place(cycle_.empty, ask);
      cycle_.proofs.empty.emplace(Proofs::ShapeOf(ask), ever);
    }
    if (ever.outcome == Placer::Outcome::kImpossible) {
      SayNo(ask.job, Verdict::kInfeasible, ShortageReason(cycle_.empty, ask, ever));
    } else {
      SayNo(ask.job, Verdict::kWait, ShortageReason(cycle_.now, ask, now));
    }
  }

  // Pending tasks beyond what this cycle has placed, each an ask of its own.
  std::vector<GangAsk> ElasticMembers(JobId id, std::size_t started) const {
    const JobRow& job = cycle_.snapshot.job(id);
    std::vector<TaskId> taken;
    if (started != kNoDecision) {
      for (const Placement& placement : cycle_.plan.decisions[started].placements) {
        taken.push_back(placement.task);
      }
    }
    std::sort(taken.begin(), taken.end());
    std::vector<GangAsk> asks;
    for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
      for (TaskId task : job.roles[r].tasks) {
        if (cycle_.snapshot.task(task).phase != TaskPhase::kPending) continue;
        if (std::binary_search(taken.begin(), taken.end(), task)) continue;
        asks.push_back({id, job.queue, {{r, job.roles[r].cls, 1, {task}}}, 1});
      }
    }
    return asks;
  }

  // There is no place for what the gang lacks. One that a failed binding left in part gives its
  // room back, so that it does not hold what it cannot use: its pods come again, as one gang. While
  // other bindings of it are under way it waits for what becomes of them.
  void SayNo(JobId id, Verdict verdict, Reason reason) {
    Say(id, Part::kMinimum, verdict, std::move(reason), {});
    const JobRow& job = cycle_.snapshot.job(id);
    if (!job.broken || !TasksIn(job, TaskPhase::kAssumed).empty()) return;
    cycle_.plan.decisions.back().evictions = TasksIn(job, TaskPhase::kRunning);
  }

  std::vector<TaskId> TasksIn(const JobRow& job, TaskPhase phase) const {
    std::vector<TaskId> tasks;
    for (const RoleRow& role : job.roles) {
      std::copy_if(role.tasks.begin(), role.tasks.end(), std::back_inserter(tasks),
                   [&](TaskId task) { return cycle_.snapshot.task(task).phase == phase; });
    }
    return tasks;
  }

  void Say(JobId job, Part part, Verdict verdict, Reason reason,
           std::vector<Placement> placements) {
    cycle_.plan.decisions.push_back(
        {job, part, verdict, std::move(reason), std::move(placements), {}});
  }

  static constexpr std::size_t kNoDecision = static_cast<std::size_t>(-1);

  Cycle& cycle_;
  // Gangs with members to spare, and the decision of this cycle that started them, if one did.
  std::vector<std::pair<JobId, std::size_t>> elastic_;
};

}  // namespace

void Allocate::Run(Cycle& cycle) const {
  Pass pass(cycle);
  const std::unique_ptr<Line> line = cycle.policies.order->LineUp(cycle.snapshot, cycle.due);
  for (JobId job = line->Next(cycle.now.ledger()); job.valid();
       job = line->Next(cycle.now.ledger())) {
    line->Asked(job, pass.PlaceMinimum(job, line->Behind(job)));
  }
  pass.PlaceElastic();
}

}  // namespace tephra
