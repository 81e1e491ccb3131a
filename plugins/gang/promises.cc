#include "plugins/gang/promises.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "plugins/framework/gang_ask.h"
#include "plugins/framework/kept_place.h"

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

bool Promises::MayHave(JobId id) const {
  const auto of_queue = given_in_.find(cycle_.snapshot.job(id).queue);
  return cycle_.policies.reservations->Promises(given_,
                                                of_queue == given_in_.end() ? 0 : of_queue->second);
}

bool Promises::TriedLast(JobId id) const {
  return cycle_.agenda != nullptr && given_ > 0 && !MayHave(id) &&
         cycle_.snapshot.config().backfill.order == Backfill::Order::kShortestFirst;
}

bool Promises::Delays(const GangAsk& ask, std::size_t mark) {
  if (cycle_.agenda != nullptr) late_ = cycle_.agenda->Delays(ask, mark);
  return late_.valid();
}

std::optional<Reason> Promises::Delay() const {
  if (!late_.valid()) return std::nullopt;
  Reason reason;
  reason.obstacle = Obstacle::kReserved;
  reason.ahead = cycle_.snapshot.job(late_).name;
  reason.ahead_start_ms = cycle_.agenda->PromisedTo(late_)->at;
  return reason;
}

bool Promises::PlaceAsPromised(const GangAsk& ask) {
  const Promise& promise = cycle_.snapshot.job(ask.job).promise;
  if (cycle_.agenda == nullptr || promise.at == 0 || promise.at > cycle_.snapshot.now()) {
    return false;
  }
  if (!Serves(cycle_.snapshot, ask, promise.where)) return false;
  Ledger& ledger = cycle_.now.ledger();
  Resources before = ledger.occupancy().queue_total(ask.queue);
  Attempt attempt(ledger);
  const std::size_t mark = ledger.mark();
  for (const Placement& one : promise.where) {
    ledger.Charge(cycle_.snapshot.task(one.task).cls, ask.queue, one);
  }
  Resources tried = ledger.occupancy().queue_total(ask.queue);
  tried.Add(before, -1);
  if (!IsClear(cycle_.now, ask, promise.where) ||
      cycle_.policies.entitlement->Deny(ledger, ask.job, Resources{}, tried) || Delays(ask, mark)) {
    return false;
  }
  attempt.Keep();
  return true;
}

bool Promises::Give(const GangAsk& ask, Verdict verdict, Reason& reason,
                    std::optional<Decision>& decision) {
  const JobRow& job = cycle_.snapshot.job(ask.job);
  const bool quota = IsQuota(reason.obstacle);
  const bool in_time = quota || IsRoom(reason.obstacle) || reason.obstacle == Obstacle::kReserved;
  if (cycle_.agenda == nullptr || verdict != Verdict::kWait || job.keeps_room() || job.broken ||
      !in_time) {
    return false;
  }
  // What its own queue keeps from a gang it is not to keep from the gangs of others.
  const bool all = cycle_.snapshot.config().backfill.mode == Backfill::Mode::kConservative;
  if (!MayHave(ask.job) || (quota && !all)) {
    reason.untimed = Untimed::kDepth;
    return false;
  }
  Agenda::Answer answer = cycle_.agenda->Reserve(ask);
  if (answer.promise.at == 0) {
    reason.untimed = answer.untimed;
    return false;
  }
  Count(ask.queue);
  reason.start_ms = answer.promise.at;
  reason.start_on = PlaceName(cycle_.snapshot, answer.promise.where);
  const Standing& said = job.standing;
  const bool known =
      said.asked && said.verdict == Verdict::kReserve && said.reason->obstacle == reason.obstacle &&
      said.reason->ahead == reason.ahead && said.reason->start_ms == reason.start_ms &&
      job.promise.tasks == answer.promise.tasks && job.promise.where == answer.promise.where;
  if (known) return true;
  decision.emplace(Decision{ask.job, Part::kMinimum, Verdict::kReserve, reason, {}, {}});
  decision->reserved = std::move(answer.promise.where);
  decision->reserved_tasks = answer.promise.tasks;
  return true;
}

void Promises::TellMoved() {
  if (cycle_.agenda == nullptr) return;
  for (const JobId id : cycle_.agenda->Moved()) {
    const Promise& promise = *cycle_.agenda->PromisedTo(id);
    const auto said = std::find_if(
        cycle_.plan.decisions.begin(), cycle_.plan.decisions.end(),
        [&](const Decision& one) { return one.job == id && one.verdict == Verdict::kReserve; });
    const bool anew = said == cycle_.plan.decisions.end();
    Reason reason = anew ? cycle_.snapshot.job(id).standing.reason : said->reason;
    reason.start_ms = promise.at;
    reason.start_on = PlaceName(cycle_.snapshot, promise.where);
    Decision decision{id, Part::kMinimum, Verdict::kReserve, std::move(reason), {}, {}};
    decision.reserved = promise.where;
    decision.reserved_tasks = promise.tasks;
    if (anew) {
      cycle_.plan.decisions.push_back(std::move(decision));
    } else {
      *said = std::move(decision);
    }
  }
}

}  // namespace tephra
