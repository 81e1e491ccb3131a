#include "plugins/gang/allocate.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "plugins/framework/entitled.h"
#include "plugins/framework/gang_ask.h"
#include "plugins/framework/kept_place.h"
#include "plugins/framework/missing.h"
#include "plugins/framework/priority.h"
#include "plugins/gang/promises.h"
#include "plugins/gang/shortage.h"

namespace tephra {
namespace {

constexpr DurationMs kMostRun = std::numeric_limits<DurationMs>::max();

class AllocatePass {
 public:
  AllocatePass(Cycle& cycle, Line& line, Promises& promises)
      : cycle_(cycle), line_(line), promises_(promises) {}

  // What the gang lacks to run, unless it has to wait behind `ahead`. True where nobody has to wait
  // for it any more.
  bool PlaceMinimum(JobId id, JobId ahead) {
    // Whatever it asks for is known once those of it that are evicted have gone.
    if (evicted_.contains(id)) return true;
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
    if (cycle_.snapshot.job(id).berths > 0 && GoesOn(id)) return true;
    // One of which some run already is in the middle of its turn.
    if (ahead.valid() && cycle_.snapshot.job(id).counted() == 0) {
      const Standing& said = cycle_.snapshot.job(id).standing;
      if (said.asked && said.reason->obstacle == Obstacle::kBehind &&
          said.reason->ahead == cycle_.snapshot.job(ahead).name) {
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
    if (auto reason = KeptOut(ask)) {
      Say(id, Part::kMinimum, Verdict::kWait, std::move(*reason), {});
      return false;
    }
    if (auto reason = MissingMembers(cycle_.snapshot, ask)) {
      Say(id, Part::kMinimum, Verdict::kWait, std::move(*reason), {});
      return false;
    }
    if (StartHeld(ask) || StartAsPromised(ask)) return true;
    std::optional<No> no = StartNow(ask);
    if (!no) return true;
    if (KeepsHolding(ask)) return true;
    if (MayBeRelieved(*no) && StartLater(ask, no->reason)) return true;
    std::optional<Decision> promise;
    if (!promises_.Give(ask, no->verdict, no->reason, promise)) {
      SayNo(id, no->verdict, std::move(no->reason));
    } else if (promise) {
      Say(std::move(*promise));
    }
    return false;
  }

  // One by one: each elastic member, or group that has not begun, stands for itself.
  void PlaceElastic() {
    for (const auto& [id, started] : elastic_) {
      if (evicted_.contains(id)) continue;
      std::vector<Placement> placed;
      std::optional<Reason> no;
      Proofs::Shape failed;  // equal members are one question
      const auto start = [&, job = id](const std::vector<Placement>& members) {
        placed.insert(placed.end(), members.begin(), members.end());
        promises_.Follow({job, Part::kElastic, Verdict::kStart, {}, members, {}});
      };
      std::vector<GangAsk> asks = ElasticMembers(id, PlacedBy(started));
      for (std::size_t a = 0; a < asks.size(); ++a) {
        const GangAsk& one = asks[a];  // until others are added behind
        Proofs::Shape shape = Proofs::ShapeOf(one);
        if (shape == failed) continue;
        if (started == kNoDecision && Kept(one)) {
          if (ClearBerths(cycle_.now, one)) {
            start(MoveIn(one));
            continue;
          }
          if (ClearBerths(cycle_.later.bench(), one)) continue;
        }
        Attempt attempt(cycle_.now.ledger());
        if (started == kNoDecision) LeaveBerths(one);
        if (auto reason = Denied(one, LeastDemand(cycle_.snapshot, one))) {
          no = std::move(reason);
          failed = std::move(shape);
          continue;
        }
        Entitled tried = PlaceEntitled(cycle_.now, one, [&](const GangAsk& trial) {
          return promises_.Undelayed(
              trial, [&] { return cycle_.policies.placer->Place(cycle_.now, trial); });
        });
        if (tried.denied) {
          no = std::move(tried.denied);
          failed = std::move(shape);
          continue;
        }
        if (tried.answer.outcome != Placer::Outcome::kPlaced) {
          if (!no) no = promises_.Delay();
          if (!no) no = ShortageReason(cycle_.now, one, tried.answer);
          failed = std::move(shape);
          continue;
        }
        start(attempt.Keep());
        if (!StartsGroup(one)) continue;
        std::vector<Placement> all = PlacedBy(started);
        all.insert(all.end(), placed.begin(), placed.end());
        AddMembers(id, one.groups[0].group, all, asks);
      }
      if (!placed.empty()) Say(id, Part::kElastic, Verdict::kStart, {}, std::move(placed));
      if (no) Say(id, Part::kElastic, Verdict::kWait, std::move(*no), {});
    }
  }

 private:
  struct No {
    Verdict verdict = Verdict::kWait;
    Reason reason;
  };

  // Whether it would help if others left.
  static bool MayBeRelieved(const No& no) {
    return no.verdict == Verdict::kWait &&
           (IsQuota(no.reason.obstacle) || IsRoom(no.reason.obstacle));
  }

  // Why the gang is not to be tried, if there is a gate that does not let it in.
  std::optional<Reason> KeptOut(const GangAsk& ask) {
    const Admission* admission = cycle_.policies.admission.get();
    if (admission == nullptr || cycle_.snapshot.job(ask.job).let_in()) return std::nullopt;
    // A queue that starts nothing lets nobody in, and says so itself.
    if (auto reason = Denied(ask, Resources{})) return reason;
    if (gate_ == nullptr) gate_ = admission->Open(cycle_.snapshot);
    return gate_->Ask(ask.job);
  }

  // Starts the gang beside all that is there, or says why not.
  std::optional<No> StartNow(const GangAsk& ask) {
    const JobRow& job = cycle_.snapshot.job(ask.job);
    Attempt attempt(cycle_.now.ledger());
    // What is set aside for it is its own to leave for something better.
    if (job.keeps_room()) FreeHolds(cycle_.now.ledger(), job);
    if (auto reason = Denied(ask, LeastDemand(cycle_.snapshot, ask))) {
      return No{Verdict::kWait, std::move(*reason)};
    }
    Entitled tried = PlaceEntitled(cycle_.now, ask, [&](const GangAsk& trial) {
      return promises_.Undelayed(trial, [&] { return Ask(trial); });
    });
    if (tried.denied) return No{Verdict::kWait, std::move(*tried.denied)};
    if (tried.answer.outcome != Placer::Outcome::kPlaced) {
      if (auto delay = promises_.Delay()) return No{Verdict::kWait, std::move(*delay)};
      return Short(ask, tried.answer);
    }
    Say(ask.job, Part::kMinimum, Verdict::kStart, {}, attempt.Keep());
    ExpectElastic(ask);
    return std::nullopt;
  }

  // Has others evicted so that the gang starts when they have gone. Its room is set aside.
  bool StartLater(const GangAsk& ask, Reason& no) {
    const JobRow& job = cycle_.snapshot.job(ask.job);
    if (!job.evicts) return false;
    // A gang that had its turn and lost the room again to others who had theirs would go round
    // with them for ever.
    if (job.relieved_at == cycle_.snapshot.books().news) {
      no.remedy = Remedy::kOnce;
      return false;
    }
    if (!cycle_.later.begun() && !cycle_.policies.eviction->Possible(cycle_.snapshot, ask)) {
      return false;
    }
    const auto key =
        std::make_tuple(ask.queue, PrecedenceOf(cycle_.snapshot, job), Proofs::ShapeOf(ask));
    const auto known = cycle_.proofs.relief.find(key);
    if (known != cycle_.proofs.relief.end()) return Unrelieved(known->second, no);
    Relief& relief = cycle_.later.relief();
    Ledger& later = cycle_.later.bench().ledger();
    Attempt attempt(later);
    if (job.keeps_room()) FreeHolds(later, job);
    Relief::Answer answer = relief.MakeRoom(ask);
    if (answer.outcome != Relief::Outcome::kPlaced) {
      if (!job.keeps_room()) cycle_.proofs.relief.emplace(key, answer);
      return Unrelieved(answer, no);
    }
    Reason reason;
    reason.obstacle = Obstacle::kReleasing;
    reason.evicted = static_cast<std::int64_t>(answer.victims.size());
    reason.gangs_broken = answer.gangs;
    reason.fewest = answer.fewest;
    SetAside(ask, std::move(reason), attempt.Keep());
    for (const TaskId task : answer.victims) {
      const JobId victim = cycle_.snapshot.task(task).job;
      if (evicted_.insert(victim).second) line_.Left(cycle_.snapshot.job(victim).queue);
    }
    cycle_.plan.decisions.back().evictions = std::move(answer.victims);
    promises_.Follow(cycle_.plan.decisions.back());
    return true;
  }

  bool Unrelieved(const Relief::Answer& answer, Reason& no) const {
    if (!answer.anybody) return false;
    no.remedy = answer.outcome == Relief::Outcome::kUnknown ? Remedy::kSearch
                : answer.over.valid()                       ? Remedy::kOverShare
                                                            : Remedy::kImpossible;
    if (no.remedy != Remedy::kOverShare) return false;
    no.over_queue = cycle_.snapshot.queues().spec(answer.over).name;
    no.over_kind = answer.binding;
    no.over_share = answer.share;
    no.over_holds = answer.holds;
    no.over_asked = answer.asked;
    return false;
  }

  // REQUIRES: the placements are charged to the later ledger, what was held before is not.
  void SetAside(const GangAsk& ask, Reason reason, std::vector<Placement> placements) {
    const JobRow& job = cycle_.snapshot.job(ask.job);
    if (job.keeps_room()) {
      FreeHolds(cycle_.now.ledger(), job);
      cycle_.proofs.RoomCame();
    }
    Charge(cycle_.now, ask, placements);
    cycle_.plan.decisions.push_back({ask.job,
                                     Part::kMinimum,
                                     Verdict::kStartAfterEviction,
                                     std::move(reason),
                                     std::move(placements),
                                     {}});
  }

  void Charge(Workbench& bench, const GangAsk& ask,
              const std::vector<Placement>& placements) const {
    for (const Placement& placement : placements) {
      bench.ledger().Charge(cycle_.snapshot.task(placement.task).cls, ask.queue, placement);
    }
  }

  // A gang that was moved starts where room is kept for it, once all that is to come again has come
  // and those who are there have gone. False: it has to find another place.
  bool GoesOn(JobId id) {
    const JobRow& job = cycle_.snapshot.job(id);
    for (const RoleRow& role : job.roles) {
      for (const TaskId task : role.tasks) {
        const TaskRow& row = cycle_.snapshot.task(task);
        if (row.berth.valid() && !Asks(row.phase)) return true;
      }
    }
    const GangAsk ask = MissingMinimum(cycle_.snapshot, id);
    if (MissingMembers(cycle_.snapshot, ask)) return false;
    return StartHeld(ask) || KeepsHolding(ask);
  }

  // Room is kept for all of the ask.
  bool Kept(const GangAsk& ask) const {
    return std::all_of(ask.roles.begin(), ask.roles.end(), [&](const RoleAsk& role) {
      return std::all_of(role.tasks.begin(), role.tasks.end(),
                         [&](TaskId task) { return cycle_.snapshot.task(task).berth.valid(); });
    });
  }

  std::vector<Placement> Berths(const GangAsk& ask) const {
    std::vector<Placement> berths;
    for (const RoleAsk& role : ask.roles) {
      for (const TaskId id : role.tasks) {
        const TaskId berth = cycle_.snapshot.task(id).berth;
        if (!berth.valid()) continue;
        berths.push_back(
            {id, cycle_.snapshot.task(berth).node, cycle_.snapshot.task(berth).slices});
      }
    }
    return berths;
  }

  bool ClearBerths(Workbench& bench, const GangAsk& ask) const {
    return IsClear(bench, ask, Berths(ask));
  }

  void LeaveBerths(const GangAsk& ask) {
    for (const Placement& berth : Berths(ask)) {
      FreeBerth(cycle_.now.ledger(), cycle_.snapshot.task(berth.task).berth);
    }
  }

  std::vector<Placement> MoveIn(const GangAsk& ask) {
    std::vector<Placement> berths = Berths(ask);
    LeaveBerths(ask);
    Charge(cycle_.now, ask, berths);
    return berths;
  }

  // All that is kept for a gang that was moved, for it goes on as it was; nothing if that is less
  // than it lacks.
  std::vector<Placement> KeptForAll(const GangAsk& ask) const {
    std::vector<Placement> kept;
    for (const RoleRow& role : cycle_.snapshot.job(ask.job).roles) {
      for (const TaskId id : role.tasks) {
        const TaskRow& task = cycle_.snapshot.task(id);
        const TaskRow* room =
            Asks(task.phase) ? RoomKeptFor(cycle_.snapshot.books().tasks, task) : nullptr;
        if (room != nullptr) kept.push_back({id, room->node, room->slices});
      }
    }
    const auto covers = [&](const std::vector<RoleAsk>& roles, std::int32_t least) {
      std::int32_t all = 0;
      for (const RoleAsk& role : roles) {
        const auto here = static_cast<std::int32_t>(
            std::count_if(kept.begin(), kept.end(), [&](const Placement& one) {
              return cycle_.snapshot.task(one.task).role == role.role;
            }));
        if (here < role.least) return false;
        all += here;
      }
      return all >= least;
    };
    bool enough = covers(ask.roles, ask.least);
    for (const GroupAsk& group : ask.groups) {
      enough = enough && covers(PartOf(ask, group).roles, group.least);
    }
    return enough ? kept : std::vector<Placement>{};
  }

  // Of the room that was set aside for the gang, as much as it lacks now; nothing if that is not
  // there. That of a gang with groups is to be just what it lacks.
  std::vector<Placement> Held(const GangAsk& ask) const {
    if (cycle_.snapshot.job(ask.job).berths > 0) return KeptForAll(ask);
    std::vector<Placement> held, rest;
    if (!ask.groups.empty()) {
      held = HeldIn(ask.roles);
      for (const GroupAsk& group : ask.groups) {
        const auto of_group = static_cast<std::int32_t>(HeldIn(PartOf(ask, group).roles).size());
        if (of_group != group.least) return {};
      }
      if (static_cast<std::int32_t>(held.size()) != ask.least) return {};
      return held;
    }
    for (const RoleAsk& role : ask.roles) {
      std::int32_t here = 0;
      for (const TaskId id : role.tasks) {
        const TaskRow& task = cycle_.snapshot.task(id);
        if (task.phase != TaskPhase::kHeld) continue;
        (here < role.least ? held : rest).push_back({id, task.node, task.slices});
        ++here;
      }
      if (here < role.least) return {};
    }
    const auto least = static_cast<std::size_t>(ask.least);
    if (held.size() + rest.size() < least) return {};
    rest.resize(least - held.size());
    std::move(rest.begin(), rest.end(), std::back_inserter(held));
    return held;
  }

  std::vector<Placement> HeldIn(const std::vector<RoleAsk>& roles) const {
    std::vector<Placement> held;
    for (const RoleAsk& role : roles) {
      const std::size_t before = held.size();
      for (const TaskId id : role.tasks) {
        const TaskRow& task = cycle_.snapshot.task(id);
        if (task.phase == TaskPhase::kHeld) held.push_back({id, task.node, task.slices});
      }
      if (held.size() - before < static_cast<std::size_t>(role.least)) return {};
    }
    return held;
  }

  // Starts a gang whose room has come free.
  bool StartHeld(const GangAsk& ask) {
    const JobRow& job = cycle_.snapshot.job(ask.job);
    if (!job.keeps_room()) return false;
    std::vector<Placement> held = Held(ask);
    if (!IsClear(cycle_.now, ask, held) || DeniedHolds(cycle_.now, ask)) return false;
    FreeHolds(cycle_.now.ledger(), job);
    Charge(cycle_.now, ask, held);
    Say(ask.job, Part::kMinimum, Verdict::kStart, {}, std::move(held));
    ExpectElastic(ask);
    return true;
  }

  bool StartAsPromised(const GangAsk& ask) {
    const std::size_t mark = cycle_.now.ledger().mark();
    if (!promises_.PlaceAsPromised(ask)) return false;
    Say(ask.job, Part::kMinimum, Verdict::kStart, {}, cycle_.now.ledger().Since(mark));
    ExpectElastic(ask);
    return true;
  }

  // Whether the gang goes on waiting for the room that is set aside: those who are in it are on
  // their way out.
  bool KeepsHolding(const GangAsk& ask) {
    const JobRow& job = cycle_.snapshot.job(ask.job);
    if (!job.keeps_room()) return false;
    std::vector<Placement> held = Held(ask);
    if (!IsClear(cycle_.later.bench(), ask, held)) return false;
    if (DeniedHolds(cycle_.later.bench(), ask)) return false;
    if (job.berths > 0) return true;
    if (job.standing.asked && job.standing.verdict == Verdict::kStartAfterEviction) return true;
    // Another engine set it aside.
    Reason reason;
    reason.obstacle = Obstacle::kReleasing;
    FreeHolds(cycle_.later.bench().ledger(), job);
    Charge(cycle_.later.bench(), ask, held);
    SetAside(ask, std::move(reason), std::move(held));
    return true;
  }

  // Whether what is set aside for the gang is more than its queue may hold by now.
  bool DeniedHolds(Workbench& bench, const GangAsk& ask) {
    Ledger& ledger = bench.ledger();
    Resources tried = ledger.occupancy().queue_total(ask.queue);
    {
      Attempt attempt(ledger);
      FreeHolds(ledger, cycle_.snapshot.job(ask.job));
      tried.Add(ledger.occupancy().queue_total(ask.queue), -1);
    }
    return cycle_.policies.entitlement->Deny(ledger, ask.job, Resources{}, tried).has_value();
  }

  // Members beyond what has just started the gang have their turn at the end.
  void ExpectElastic(const GangAsk& ask) {
    const JobRow& job = cycle_.snapshot.job(ask.job);
    if (ask.least >= job.pending() + job.held()) return;
    elastic_.push_back({ask.job, cycle_.plan.decisions.size() - 1});
  }

  std::optional<Reason> Denied(const GangAsk& ask, const Resources& extra) {
    return cycle_.policies.entitlement->Deny(cycle_.now.ledger(), ask.job, extra, Resources{});
  }

  // A proof of impossibility is kept for gangs of the same shape: charges only took room since.
  Placer::Answer Ask(const GangAsk& ask) {
    auto& proofs = cycle_.proofs.now;
    // One that left what was set aside for it had more room than the others have.
    const bool as_others = !cycle_.snapshot.job(ask.job).keeps_room();
    if (!proofs.empty() && as_others) {
      const auto known = proofs.find(Proofs::ShapeOf(ask));
      if (known != proofs.end()) return known->second;
    }
    const Placer::Answer answer = cycle_.policies.placer->Place(cycle_.now, ask);
    if (answer.outcome != Placer::Outcome::kPlaced) proofs.emplace(Proofs::ShapeOf(ask), answer);
    return answer;
  }

  // Never, if not even the empty cluster would do; else not now.
  No Short(const GangAsk& ask, const Placer::Answer& now) {
    GangAsk anew = ask;
    anew.around = {0, 0};  // wherever others of the job are now
    for (GroupAsk& group : anew.groups) group.around = {0, 0};
    const auto known = cycle_.proofs.empty.find(Proofs::ShapeOf(anew));
    Placer::Answer ever;
    if (known != cycle_.proofs.empty.end()) {
      ever = known->second;
    } else {
      Attempt attempt(cycle_.empty.ledger());
      ever = cycle_.policies.placer->Place(cycle_.empty, anew);
      cycle_.proofs.empty.emplace(Proofs::ShapeOf(anew), ever);
    }
    if (ever.outcome == Placer::Outcome::kImpossible) {
      return {Verdict::kInfeasible, ShortageReason(cycle_.empty, anew, ever)};
    }
    return {Verdict::kWait, ShortageReason(cycle_.now, ask, now)};
  }

  const std::vector<Placement>& PlacedBy(std::size_t decision) const {
    static const std::vector<Placement> kNone;
    return decision == kNoDecision ? kNone : cycle_.plan.decisions[decision].placements;
  }

  // Pending tasks beyond what this cycle has placed, each an ask of its own; those of a group that
  // has not begun together.
  std::vector<GangAsk> ElasticMembers(JobId id, const std::vector<Placement>& placed) const {
    const JobRow& job = cycle_.snapshot.job(id);
    std::set<std::uint32_t> begun;  // groups
    for (const Placement& placement : placed) {
      begun.insert(job.roles[cycle_.snapshot.task(placement.task).role].group);
    }
    std::vector<GangAsk> asks;
    AddMembers(id, kNoGroup, placed, asks);
    for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
      if (job.counted(job.groups[g]) > 0 || begun.contains(g)) {
        AddMembers(id, g, placed, asks);
        continue;
      }
      GangAsk whole = WholeGroup(cycle_.snapshot, id, g, placed);
      if (!MissingMembers(cycle_.snapshot, whole)) asks.push_back(std::move(whole));
    }
    return asks;
  }

  // Each pending task of the group, or of no group, that was not placed.
  void AddMembers(JobId id, std::uint32_t group, const std::vector<Placement>& placed,
                  std::vector<GangAsk>& asks) const {
    const JobRow& job = cycle_.snapshot.job(id);
    GangAsk any;
    any.job = id;
    any.queue = job.queue;
    any.least = 1;
    if (group != kNoGroup) {
      GroupAsk& part = any.groups.emplace_back();
      part.group = group;
      part.least = 1;
      part.end_role = 1;
    }
    Locate(cycle_.snapshot, placed, any);
    std::set<TaskId> taken;
    for (const Placement& placement : placed) taken.insert(placement.task);
    for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
      if (job.roles[r].group != group) continue;
      for (const TaskId task : job.roles[r].tasks) {
        if (!Asks(cycle_.snapshot.task(task).phase) || taken.contains(task)) continue;
        asks.emplace_back(any).roles.push_back({r, job.roles[r].cls, 1, {task}});
      }
    }
  }

  // It is a group that has not begun, and not a member of one that has.
  bool StartsGroup(const GangAsk& ask) const {
    return !ask.groups.empty() && (ask.roles.size() > 1 || ask.roles[0].tasks.size() > 1);
  }

  // There is no place for what the gang lacks. One that a failed binding left in part gives its
  // room back, so that it does not hold what it cannot use: its pods come again, as one gang. While
  // other bindings of it are under way it waits for what becomes of them.
  void SayNo(JobId id, Verdict verdict, Reason reason) {
    const JobRow& job = cycle_.snapshot.job(id);
    Decision no{id, Part::kMinimum, verdict, std::move(reason), {}, {}};
    if (job.broken && TasksIn(job, TaskPhase::kAssumed).empty()) {
      no.evictions = TasksIn(job, TaskPhase::kRunning);
    }
    Say(std::move(no));
  }

  std::vector<TaskId> TasksIn(const JobRow& job, TaskPhase phase) const {
    std::vector<TaskId> tasks;
    for (const RoleRow& role : job.roles) {
      std::copy_if(role.tasks.begin(), role.tasks.end(), std::back_inserter(tasks),
                   [&](TaskId task) { return cycle_.snapshot.task(task).phase == phase; });
    }
    return tasks;
  }

  void Say(JobId job, Part part, Verdict verdict, Boxed<Reason> reason,
           std::vector<Placement> placements) {
    Say({job, part, verdict, std::move(reason), std::move(placements), {}});
  }
  // REQUIRES: what it starts is charged, and what was set aside for that is not.
  void Say(Decision decision) {
    const JobRow& job = cycle_.snapshot.job(decision.job);
    const bool starts = decision.verdict == Verdict::kStart;
    const bool leaves = decision.part == Part::kMinimum && job.keeps_room();
    if (leaves && !starts) FreeHolds(cycle_.now.ledger(), job);
    cycle_.plan.decisions.push_back(std::move(decision));
    const Decision& said = cycle_.plan.decisions.back();
    if (starts || leaves || !said.evictions.empty()) cycle_.later.Follow(said);
    const bool minimum = said.part == Part::kMinimum;  // other members were followed one by one
    if ((starts && minimum) || !said.evictions.empty()) promises_.Follow(said);
    if (leaves) cycle_.proofs.RoomCame();
  }

  static constexpr std::size_t kNoDecision = static_cast<std::size_t>(-1);

  Cycle& cycle_;
  Line& line_;
  Promises& promises_;
  std::unique_ptr<Gate> gate_;  // null until somebody asks to be let in
  // Gangs with members to spare, and the decision of this cycle that started them, if one did.
  std::vector<std::pair<JobId, std::size_t>> elastic_;
  std::set<JobId> evicted_;  // of which this plan evicts tasks
};

}  // namespace

void Allocate::Run(Cycle& cycle) const {
  const std::unique_ptr<Line> line = cycle.policies.order->LineUp(cycle.later.ledger(), cycle.due);
  Promises promises(cycle);
  AllocatePass pass(cycle, *line, promises);
  struct Last {
    JobId job, behind;
    DurationMs run;
  };
  std::vector<Last> last;
  for (JobId job = line->Next(cycle.later.ledger()); job.valid();
       job = line->Next(cycle.later.ledger())) {
    if (!promises.TriedLast(job)) {
      line->Asked(job, pass.PlaceMinimum(job, line->Behind(job)));
      continue;
    }
    const DurationMs run = cycle.snapshot.job(job).expected_run_ms;
    last.push_back({job, line->Behind(job), run > 0 ? run : kMostRun});
    line->Asked(job, false);
  }
  std::stable_sort(last.begin(), last.end(),
                   [](const Last& a, const Last& b) { return a.run < b.run; });
  for (const Last& one : last) pass.PlaceMinimum(one.job, one.behind);
  pass.PlaceElastic();
  promises.TellMoved();
}

}  // namespace tephra
