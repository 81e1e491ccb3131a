#include "plugins/gang/start_reservations.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "engine/gang_ask.h"
#include "engine/holdings.h"
#include "engine/kept_place.h"

namespace tephra {
namespace {

// The node, the smallest domain around all nodes, or how many nodes there are.
std::string PlaceName(const Snapshot& snapshot, const std::vector<Placement>& place) {
  std::set<NodeId> nodes;
  RankSpan span{0, 0};
  for (const Placement& one : place) {
    const std::uint32_t rank = snapshot.hardware().rank(one.node);
    nodes.insert(one.node);
    span = RankSpan::Around(span, {rank, rank + 1});
  }
  if (nodes.empty()) return "";
  if (nodes.size() == 1) return snapshot.hardware().spec(*nodes.begin()).name;
  const Fabric& fabric = snapshot.hardware().fabric();
  const std::vector<std::uint32_t> around = fabric.Around(span);
  if (!around.empty()) return fabric.domains()[around.front()].name;
  return std::to_string(nodes.size()) + " nodes";
}

}  // namespace

bool StartReservations::MayHave(JobId id) const {
  const auto of_queue = given_in_.find(cycle_.snapshot().job(id).queue);
  return cycle_.policies().reservations->Reserves(
      given_, of_queue == given_in_.end() ? 0 : of_queue->second);
}

bool StartReservations::AllGiven() const {
  return cycle_.reservation_plan() == nullptr || !cycle_.policies().reservations->Reserves(given_, 0);
}

void StartReservations::CloseFull(Line& line) {
  if (closed_) return;
  if (AllGiven()) {
    closed_ = true;
    return line.OnlyDue(QueueId());
  }
  for (const QueueId queue : counted_) {
    if (!cycle_.policies().reservations->Reserves(given_, given_in_[queue])) line.OnlyDue(queue);
  }
  counted_.clear();
}

// Whether its queue keeps the gang from room that exists. A limit of at least the whole cluster does
// not: when the gang has room, its queue is within that limit. Nor does what other queues are guaranteed: the gang
// competes with all queues for the rest of the cluster.
bool StartReservations::IsOwnQuota(const Reason& reason) const {
  if (!IsQuota(reason.obstacle)) return false;
  if (reason.obstacle == Obstacle::kQueueGuarantee) return !reason.queue.empty();
  if (reason.obstacle == Obstacle::kQueueDeserved) return true;
  const Resources& cluster = cycle_.empty().ledger().occupancy().free_total();
  return reason.limit < cluster[reason.binding];
}

bool StartReservations::TriedLast(JobId id) const {
  return cycle_.reservation_plan() != nullptr && given_ > 0 && !MayHave(id) &&
         cycle_.snapshot().config().reservations.order == ReservationSettings::Order::kShortestFirst;
}

bool StartReservations::Delays(const GangAsk& ask, std::size_t mark) {
  if (cycle_.reservation_plan() == nullptr) return false;
  // First, because the plan moves reservations for a gang that starts.
  if (KeepsLimits()) {
    Ledger& ledger = cycle_.now().ledger();
    Resources taken;
    for (const Placement& one : ledger.Since(mark)) {
      const TaskClass& cls = cycle_.snapshot().cls(cycle_.snapshot().task(one.task).cls);
      taken.Add(HoldingsOf(cycle_.snapshot().hardware(), cls, one.node, one.slices));
    }
    at_limit_ = limit_turns_.Delays(ask.job, taken);
    if (at_limit_) {
      ledger.RollBackTo(mark);
      return true;
    }
  }
  late_ = cycle_.reservation_plan()->Delays(ask, mark);
  return late_.valid();
}

// Where each gang has a reservation, the limits are part of it.
bool StartReservations::KeepsLimits() const {
  return cycle_.reservation_plan() != nullptr && !cycle_.policies().reservations->ReservesAll();
}

Reason StartReservations::ReasonOf(const LimitTurns::Late& late) const {
  Reason reason;
  reason.obstacle = Obstacle::kLimitReserved;
  reason.queue = cycle_.snapshot().queues().spec(late.level).name;
  reason.ahead = cycle_.snapshot().job(late.ahead).name;
  reason.ahead_start_ms = late.at;
  return reason;
}

std::optional<Reason> StartReservations::DelayAtLimit(const GangAsk& ask) {
  if (!KeepsLimits()) return std::nullopt;
  limit_turns_.Begin(ask.queue);
  const auto late = limit_turns_.Delays(ask.job, LeastDemand(cycle_.snapshot(), ask));
  return late ? std::optional(ReasonOf(*late)) : std::nullopt;
}

std::optional<Reason> StartReservations::Delay() const {
  if (at_limit_) return ReasonOf(*at_limit_);
  if (!late_.valid()) return std::nullopt;
  Reason reason;
  reason.obstacle = Obstacle::kReserved;
  reason.ahead = cycle_.snapshot().job(late_).name;
  reason.ahead_start_ms = cycle_.reservation_plan()->ReservationOf(late_)->at;
  return reason;
}

bool StartReservations::PlaceAsReserved(const GangAsk& ask) {
  const Reservation& reservation = cycle_.snapshot().job(ask.job).reservation;
  if (cycle_.reservation_plan() == nullptr || reservation.at == 0) return false;
  if (reservation.at > cycle_.snapshot().now()) return false;
  if (!Serves(cycle_.snapshot(), ask, reservation.where)) return false;
  Ledger& ledger = cycle_.now().ledger();
  Resources before = ledger.occupancy().queue_total(ask.queue);
  if (KeepsLimits()) limit_turns_.Begin(ask.queue);
  Attempt attempt(ledger);
  const std::size_t mark = ledger.mark();
  for (const Placement& one : reservation.where) {
    ledger.Charge(cycle_.snapshot().task(one.task).cls, ask.queue, one);
  }
  Resources tried = ledger.occupancy().queue_total(ask.queue);
  tried.Add(before, -1);
  if (!IsClear(cycle_.now(), ask, reservation.where) ||
      cycle_.policies().entitlement->Deny(ledger, ask.job, Resources{}, tried) ||
      Delays(ask, mark)) {
    return false;
  }
  attempt.Keep();
  return true;
}

StartReservations::Given StartReservations::Give(const GangAsk& ask, Verdict verdict,
                                                 Reason& reason,
                                                 std::optional<Decision>& decision) {
  const JobRow& job = cycle_.snapshot().job(ask.job);
  const bool in_time = IsQuota(reason.obstacle) || IsRoom(reason.obstacle) || reason.obstacle == Obstacle::kReserved;
  if (cycle_.reservation_plan() == nullptr || verdict != Verdict::kWait || job.keeps_room() ||
      job.broken || !in_time) {
    return Given::kMayNotHave;
  }
  // What its own queue keeps from a gang, the gang must not keep from other queues.
  if (!MayHave(ask.job) ||
      (IsOwnQuota(reason) && !cycle_.policies().reservations->ReservesAll())) {
    reason.untimed = Untimed::kDepth;
    return Given::kMayNotHave;
  }
  if (auto late = DelayAtLimit(ask)) {
    reason = *std::move(late);
    return Given::kMayNotHave;
  }
  ReservationPlan::Answer answer = cycle_.reservation_plan()->Reserve(ask);
  if (answer.reservation.at == 0) {
    reason.untimed = answer.untimed;
    return Given::kNoTime;
  }
  Count(ask.queue);
  if (cycle_.policies().reservations->ReservesAll()) cycle_.line().Reserved(ask.job);
  reason.start_ms = answer.reservation.at;
  const Standing& said = job.standing;
  const bool known =
      said.asked && said.verdict == Verdict::kReserve && said.reason->obstacle == reason.obstacle &&
      said.reason->ahead == reason.ahead && said.reason->start_ms == reason.start_ms &&
      job.reservation->tasks == answer.reservation.tasks &&
      job.reservation->where == answer.reservation.where;
  if (known) return Given::kYes;
  reason.start_on = PlaceName(cycle_.snapshot(), answer.reservation.where);
  decision.emplace(Decision{ask.job, Part::kMinimum, Verdict::kReserve, reason, {}, {}});
  decision->reserved = std::move(answer.reservation.where);
  decision->reserved_tasks = answer.reservation.tasks;
  return Given::kYes;
}

void StartReservations::TellMoved() {
  if (cycle_.reservation_plan() == nullptr) return;
  const std::vector<Decision>& decisions = cycle_.plan().decisions;
  for (const JobId id : cycle_.reservation_plan()->Moved()) {
    const Reservation& reservation = *cycle_.reservation_plan()->ReservationOf(id);
    const auto said = std::find_if(decisions.begin(), decisions.end(), [&](const Decision& one) {
      return one.job == id && one.verdict == Verdict::kReserve;
    });
    const bool known = said != decisions.end();
    Reason reason = known ? said->reason : cycle_.snapshot().job(id).standing.reason;
    reason.start_ms = reservation.at;
    reason.start_on = PlaceName(cycle_.snapshot(), reservation.where);
    Decision decision{id, Part::kMinimum, Verdict::kReserve, std::move(reason), {}, {}};
    decision.reserved = reservation.where;
    decision.reserved_tasks = reservation.tasks;
    if (known) {
      cycle_.Replace(static_cast<std::size_t>(said - decisions.begin()), std::move(decision));
    } else {
      cycle_.Commit(std::move(decision));
    }
  }
}

}  // namespace tephra
