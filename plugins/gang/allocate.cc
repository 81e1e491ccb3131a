#include "plugins/gang/allocate.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "engine/entitled.h"
#include "engine/gang_ask.h"
#include "engine/kept_place.h"
#include "engine/missing.h"
#include "engine/priority.h"
#include "plugins/gang/elastic_members_pass.h"
#include "plugins/gang/evicting_lines.h"
#include "plugins/gang/line_answers.h"
#include "plugins/gang/line_sweep.h"
#include "plugins/gang/reserved_room.h"
#include "plugins/gang/shortage.h"
#include "plugins/gang/start_reservations.h"

namespace tephra {
namespace {

constexpr DurationMs kMostRun = std::numeric_limits<DurationMs>::max();

// Two digits, so that a reason seldom changes by time alone.
std::int64_t Rounded(std::int64_t amount) {
  std::int64_t unit = 1;
  while (amount / unit >= 100) unit *= 10;
  return amount / unit * unit;
}

class AllocatePass {
 public:
  AllocatePass(Cycle& cycle, StartReservations& reservations)
      : cycle_(cycle), snapshot_(cycle.snapshot()), reservations_(reservations), reserved_(cycle), answers_(cycle),
        elastic_(cycle, reservations, reserved_) {}

  // Decides on what the gang lacks to run, unless it has to wait behind `ahead`. True: no other job
  // has to wait for it any more.
  bool PlaceMinimum(JobId id, JobId ahead) {
    // What the job asks for is known once its evicted tasks are gone.
    if (cycle_.evicts(id)) return true;
    if (const LineAnswers::Answer* said = answers_.For(id)) {
      cycle_.Commit({id, Part::kMinimum, said->verdict, said->reason, {}, {}});
      return false;
    }
    const JobRow& job = snapshot_.job(id);
    if (job.quarantined) {
      Reason reason;
      reason.obstacle = Obstacle::kQuarantine;
      return Wait(id, std::move(reason));
    }
    if (job.satisfied()) {
      elastic_.Add({id, false, {}});
      return true;
    }
    if (job.reservation->kind == Reservation::Kind::kMove && GoesOn(id)) return true;
    // A job that runs in part is in the middle of its turn.
    if (ahead.valid() && job.counted() == 0) return WaitBehind(id, ahead);
    const GangAsk ask = MissingMinimum(snapshot_, id);
    if (auto reason = KeptOut(ask)) return Wait(id, std::move(*reason));
    if (auto reason = MissingMembers(snapshot_, ask)) {
      answers_.Note(id, {0, Verdict::kWait, *reason}, false);
      return Wait(id, std::move(*reason));
    }
    if (StartReserved(ask) || StartAsReserved(ask)) return true;
    std::optional<No> no = StartNow(ask);
    if (!no) return true;
    if (KeepsReserved(ask)) return true;
    if (MayHelpToEvict(*no)) {
      // A gang that the limit stops, too, evicts under the same limit, so the queue uses no more of it.
      auto late = IsRoom(no->reason.obstacle) ? reservations_.DelayAtLimit(ask) : std::nullopt;
      if (late) {
        no->reason = *std::move(late);
      } else if (StartLater(ask, no->reason)) {
        return true;
      }
    }
    std::optional<Decision> reservation;
    const auto given = reservations_.Give(ask, no->verdict, no->reason, reservation);
    if (given != StartReservations::Given::kYes) {
      NoteAnswer(id, *no, given);
      SayNo(id, no->verdict, std::move(no->reason));
    } else if (reservation) {
      cycle_.Commit(*std::move(reservation));
    }
    return false;
  }
  // Whether the job is of a line that has its answer.
  bool Answered(JobId id) { return answers_.For(id) != nullptr; }

  // Elastic members have their turns at the end.
  void PlaceElastic() { elastic_.Run(); }

 private:
  struct No {
    Verdict verdict = Verdict::kWait;
    Reason reason;
    bool as_placed = false;  // its queue may not hold what the devices chosen for it take
  };
  // Whether it would help if other jobs left.
  static bool MayHelpToEvict(const No& no) {
    return no.verdict == Verdict::kWait &&
           (IsQuota(no.reason.obstacle) || IsRoom(no.reason.obstacle));
  }

  // False: the job waits.
  bool Wait(JobId id, Reason reason) {
    cycle_.Commit({id, Part::kMinimum, Verdict::kWait, std::move(reason), {}, {}});
    return false;
  }

  bool WaitBehind(JobId id, JobId ahead) {
    const Standing& said = snapshot_.job(id).standing;
    if (said.asked && said.reason->obstacle == Obstacle::kBehind &&
        said.reason->ahead == snapshot_.job(ahead).name) {
      return false;
    }
    Reason reason;
    reason.obstacle = Obstacle::kBehind;
    reason.queue = snapshot_.job(id).queue_name;
    reason.ahead = snapshot_.job(ahead).name;
    return Wait(id, std::move(reason));
  }

  // Why the gang is not to be tried, if the enqueue gate does not admit it.
  std::optional<Reason> KeptOut(const GangAsk& ask) {
    const Admission* admission = cycle_.policies().admission.get();
    if (admission == nullptr || snapshot_.job(ask.job).admitted()) return std::nullopt;
    // A queue that starts nothing admits nothing, and says so itself.
    if (auto reason = Denied(ask, Resources{})) return reason;
    if (gate_ == nullptr) gate_ = admission->Open(snapshot_);
    return gate_->Ask(ask.job);
  }

  // Starts the gang beside all that is there, or says why not.
  std::optional<No> StartNow(const GangAsk& ask) {
    const JobRow& job = snapshot_.job(ask.job);
    Attempt attempt(cycle_.now().ledger());
    // The gang may leave what is reserved for it for something better.
    if (job.keeps_room()) FreeReserved(cycle_.now().ledger(), job);
    if (auto reason = Denied(ask, LeastDemand(snapshot_, ask))) {
      return No{Verdict::kWait, std::move(*reason)};
    }
    Entitled tried = PlaceEntitled(cycle_.now(), ask, [&](const GangAsk& trial) {
      return reservations_.Undelayed(trial, [&] { return Ask(trial); });
    });
    if (tried.denied) return No{Verdict::kWait, std::move(*tried.denied), true};
    if (tried.answer.outcome != Placer::Outcome::kPlaced) {
      if (auto delay = reservations_.Delay()) return No{Verdict::kWait, std::move(*delay)};
      return Short(ask, tried.answer);
    }
    Start(ask, attempt.placements(), &attempt);
    return std::nullopt;
  }

  // Members beyond what starts the gang have their turn at the end.
  void Start(const GangAsk& ask, std::vector<Placement> placements, Attempt* tried) {
    const JobRow& job = snapshot_.job(ask.job);
    const bool spare = ask.least < job.pending();
    std::vector<Placement> placed = spare ? placements : std::vector<Placement>();
    const bool starts = cycle_.Commit(
        {ask.job, Part::kMinimum, Verdict::kStart, {}, std::move(placements), {}}, tried);
    if (starts && spare) elastic_.Add({ask.job, true, std::move(placed)});
  }

  // Starts a gang in its reserved room, which has come free.
  bool StartReserved(const GangAsk& ask) {
    if (!snapshot_.job(ask.job).keeps_room()) return false;
    std::vector<Placement> room = reserved_.Of(ask);
    if (!reserved_.IsFree(cycle_.now(), ask, room)) return false;
    Start(ask, std::move(room), nullptr);
    return true;
  }

  bool StartAsReserved(const GangAsk& ask) {
    Attempt attempt(cycle_.now().ledger());
    if (!reservations_.PlaceAsReserved(ask)) return false;
    Start(ask, attempt.placements(), &attempt);
    return true;
  }

  // Whether the gang goes on waiting for its reserved room: what is in it is on its way out.
  bool KeepsReserved(const GangAsk& ask) {
    const JobRow& job = snapshot_.job(ask.job);
    if (!job.keeps_room()) return false;
    std::vector<Placement> room = reserved_.Of(ask);
    if (!reserved_.IsFree(cycle_.later().bench(), ask, room)) return false;
    if (job.reservation->kind == Reservation::Kind::kMove) return true;
    if (job.standing.asked && job.standing.verdict == Verdict::kStartAfterEviction) return true;
    // Another engine reserved it.
    Reason reason;
    reason.obstacle = Obstacle::kReleasing;
    cycle_.Commit({ask.job, Part::kMinimum, Verdict::kStartAfterEviction, std::move(reason),
                   std::move(room), {}});
    return true;
  }

  // A gang that was moved starts where room is reserved for it, once all of its tasks are pending
  // again and the room is free. False: it has to find another place.
  bool GoesOn(JobId id) {
    for (const RoleRow& role : snapshot_.job(id).roles) {
      for (const TaskId task : role.tasks) {
        const TaskRow& row = snapshot_.task(task);
        if (row.reserved_row.valid() && row.phase != TaskPhase::kPending) return true;
      }
    }
    const GangAsk ask = MissingMinimum(snapshot_, id);
    if (MissingMembers(snapshot_, ask)) return false;
    return StartReserved(ask) || KeepsReserved(ask);
  }

  // Evicts other jobs so that the gang starts when they have gone. Its room is reserved.
  bool StartLater(const GangAsk& ask, Reason& no) {
    const JobRow& job = snapshot_.job(ask.job);
    if (!job.evicts) return false;
    // A gang that had its turn and lost the room again to gangs that had theirs would go round with
    // them forever.
    if (job.made_room_at == snapshot_.books().news) {
      no.remedy = Remedy::kOnce;
      return false;
    }
    if (!cycle_.later().begun() && !cycle_.policies().eviction->Possible(snapshot_, ask)) {
      return false;
    }
    if (job.delayed_until != 0) {
      no.remedy = Remedy::kDelay;
      no.evicts_from_ms = job.delayed_until;
      no.eviction_delay_ms = snapshot_.queues().EvictionDelay(ask.queue);
      return false;
    }
    const auto key = std::make_tuple(ask.queue, PrecedenceOf(snapshot_, job), job.is_protected(),
                                     Proofs::ShapeOf(ask));
    const auto known = cycle_.proofs().selections.find(key);
    if (known != cycle_.proofs().selections.end()) {
      ExplainNoVictims(ask.job, known->second, no);
      return false;
    }
    VictimSelection& selection = cycle_.later().selection();
    Attempt attempt(cycle_.later().bench().ledger());
    if (job.keeps_room()) FreeReserved(cycle_.later().bench().ledger(), job);
    VictimSelection::Answer answer = selection.MakeRoom(ask);
    if (answer.outcome != VictimSelection::Outcome::kPlaced) {
      if (!job.keeps_room()) cycle_.proofs().selections.emplace(key, answer);
      ExplainNoVictims(ask.job, answer, no);
      return false;
    }
    Reason reason;
    reason.obstacle = Obstacle::kReleasing;
    reason.evicted = static_cast<std::int64_t>(answer.victims.size());
    reason.gangs_broken = answer.gangs;
    reason.fewest = answer.fewest;
    cycle_.Commit({ask.job, Part::kMinimum, Verdict::kStartAfterEviction, std::move(reason),
                   attempt.placements(), std::move(answer.victims)},
                  &attempt);
    return true;
  }

  // Adds to the reason why evictions do not help. Nothing to add if there are no victims at all.
  void ExplainNoVictims(JobId id, const VictimSelection::Answer& answer, Reason& no) {
    if (!answer.any_candidate) return;
    no.remedy = answer.excess                                          ? Remedy::kLoss
                : answer.outcome == VictimSelection::Outcome::kUnknown ? Remedy::kSearch
                : answer.over.valid()                                ? Remedy::kOverShare
                                                                     : Remedy::kImpossible;
    if (answer.excess) {
      no.loss_gpu_s = Rounded(answer.excess->loss / kSecondMs);
      no.loss_limit_gpu_s = Rounded(answer.excess->limit / kSecondMs);
      no.any_loss_from_ms = answer.excess->none_from;
      if (snapshot_.job(id).evictions_from <= snapshot_.now()) {
        cycle_.HoldEvictions(id, answer.excess->SearchedFrom(snapshot_.now()));
      }
    }
    if (no.remedy != Remedy::kOverShare) return;
    no.over_queue = snapshot_.queues().spec(answer.over).name;
    no.over_kind = answer.binding;
    no.over_share = answer.share;
    no.over_holds = answer.holds;
    no.over_asked = answer.asked;
  }

  std::optional<Reason> Denied(const GangAsk& ask, const Resources& extra) {
    return cycle_.policies().entitlement->Deny(cycle_.now().ledger(), ask.job, extra, Resources{});
  }

  // A proof of impossibility is kept for gangs of the same shape: charges only took room since.
  Placer::Answer Ask(const GangAsk& ask) {
    auto& proofs = cycle_.proofs().now;
    // A gang that left what was reserved for it had more room than other gangs have.
    const bool as_others = !snapshot_.job(ask.job).keeps_room();
    if (!proofs.empty() && as_others) {
      const auto known = proofs.find(Proofs::ShapeOf(ask));
      if (known != proofs.end()) return known->second;
    }
    const Placer::Answer answer = cycle_.policies().placer->Place(cycle_.now(), ask);
    if (answer.outcome != Placer::Outcome::kPlaced) proofs.emplace(Proofs::ShapeOf(ask), answer);
    return answer;
  }

  // Never, if not even the empty cluster would do; else not now.
  No Short(const GangAsk& ask, const Placer::Answer& now) {
    const GangAsk apart = Apart(ask);
    const Placer::Answer ever = PlaceInEmpty(cycle_, apart);
    if (ever.outcome == Placer::Outcome::kImpossible) {
      return {Verdict::kInfeasible, ShortageReason(cycle_.empty(), apart, ever)};
    }
    return {Verdict::kWait, ShortageReason(cycle_.now(), ask, now)};
  }

  // Other gangs of the line get the same answer: where run times matter to it, the gangs that run at
  // least as long, else all. So do gangs of other queues if only room is missing, and their queue
  // gives them neither victims nor a reservation. A job that had its turn with victims is by itself.
  void NoteAnswer(JobId id, const No& no, StartReservations::Given given) {
    if (no.as_placed || no.reason.remedy == Remedy::kOnce) return;
    const bool by_time = given == StartReservations::Given::kNoTime ||
                         no.reason.obstacle == Obstacle::kReserved || no.reason.obstacle == Obstacle::kLimitReserved;
    const DurationMs run = WaitingLine::RunOf(snapshot_.job(id).estimated_runtime_ms);
    const bool room = IsRoom(no.reason.obstacle) || no.reason.obstacle == Obstacle::kReserved;
    const Eviction* const eviction = cycle_.policies().eviction.get();
    const bool every_queue = room && given == StartReservations::Given::kMayNotHave &&
                             (no.verdict == Verdict::kInfeasible || reservations_.AllGiven()) &&
                             (eviction == nullptr || !eviction->Enabled(snapshot_.config()));
    answers_.Note(id, {by_time ? run : 0, no.verdict, no.reason}, every_queue);
  }

  // There is no place for what the gang lacks. A gang that a failed binding left in part gives its
  // room back, so that it does not hold what it cannot use: its pods are created again, as one
  // gang. While other bindings of it are under way it waits for what becomes of them.
  void SayNo(JobId id, Verdict verdict, Reason reason) {
    const JobRow& job = snapshot_.job(id);
    Decision no{id, Part::kMinimum, verdict, std::move(reason), {}, {}};
    if (job.broken && TasksIn(snapshot_, job, TaskPhase::kAssumed).empty()) {
      no.evictions = TasksIn(snapshot_, job, TaskPhase::kRunning);
      if (!no.evictions.empty()) no.verdict = Verdict::kUnwind;
    }
    cycle_.Commit(std::move(no));
  }

  Cycle& cycle_;
  const Snapshot& snapshot_;
  StartReservations& reservations_;
  ReservedRoom reserved_;
  LineAnswers answers_;
  std::unique_ptr<Gate> gate_;  // null until the first job asks for admission
  ElasticMembersPass elastic_;
};

}  // namespace

void Allocate::Run(Cycle& cycle) const {
  Line& line = cycle.line();
  StartReservations reservations(cycle);
  AllocatePass pass(cycle, reservations);
  struct Last {
    JobId job, behind;
    DurationMs run;
  };
  std::vector<Last> last;
  LineSweep sweep(cycle, reservations);
  EvictingLines evicting(cycle, reservations);
  const auto next = [&] {
    reservations.CloseFull(line);
    sweep.Run();
    return line.Next(cycle.later().ledger());
  };
  for (JobId job = next(); job.valid(); job = next()) {
    if (!reservations.TriedLast(job)) {
      if (evicting.Closes(job)) continue;
      const bool placed = pass.PlaceMinimum(job, line.Behind(job));
      line.Asked(job, placed);
      if (placed) sweep.Started();
      continue;
    }
    const DurationMs run = cycle.snapshot().job(job).estimated_runtime_ms;
    last.push_back({job, line.Behind(job), run > 0 ? run : kMostRun});
    line.Asked(job, false);
  }
  std::stable_sort(last.begin(), last.end(),
                   [](const Last& a, const Last& b) { return a.run < b.run; });
  std::vector<JobId> alone = cycle.due().jobs;
  std::sort(alone.begin(), alone.end());
  for (const Last& one : last) {
    const bool by_itself = std::binary_search(alone.begin(), alone.end(), one.job);
    if (evicting.Closes(one.job)) continue;
    if (by_itself || !pass.Answered(one.job)) pass.PlaceMinimum(one.job, one.behind);
  }
  pass.PlaceElastic();
  reservations.TellMoved();
}

}  // namespace tephra
