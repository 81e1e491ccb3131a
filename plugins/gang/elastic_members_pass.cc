#include "plugins/gang/elastic_members_pass.h"

#include <utility>

#include "engine/entitled.h"
#include "engine/gang_ask.h"
#include "plugins/gang/elastic.h"
#include "plugins/gang/shortage.h"

namespace tephra {

// A decision that was dropped ends it: the job is quarantined.
void ElasticMembersPass::Place(const Spare& spare) {
  std::vector<Placement> placed = spare.placed;
  std::optional<Reason> no;
  Proofs::Shape failed;  // equal members are one question
  std::vector<ElasticAsk> asks = ElasticMembers(snapshot_, spare.job, placed);
  for (std::size_t a = 0; a < asks.size(); ++a) {
    const GangAsk& one = asks[a].ask;  // until more are added behind
    Proofs::Shape shape = Proofs::ShapeOf(one);
    if (shape == failed) continue;
    Decision start{spare.job, Part::kElastic, Verdict::kStart, {}, {}, {}};
    if (!spare.starts && reserved_.ForAll(one)) {
      start.placements = reserved_.OfTasks(one);
      if (reserved_.IsFree(cycle_.now(), one, start.placements)) {
        placed.insert(placed.end(), start.placements.begin(), start.placements.end());
        if (!cycle_.Commit(std::move(start))) return;
        continue;
      }
      if (reserved_.IsFree(cycle_.later().bench(), one, start.placements)) continue;
    }
    Attempt attempt(cycle_.now().ledger());
    if (!PlaceMember(one, spare.starts, no)) {
      failed = std::move(shape);
      continue;
    }
    start.placements = attempt.placements();
    placed.insert(placed.end(), start.placements.begin(), start.placements.end());
    if (!cycle_.Commit(std::move(start), &attempt)) return;
    if (const std::uint32_t group = asks[a].starts; group != kNoGroup) {
      AddElasticMembers(snapshot_, spare.job, group, placed, asks);
    }
  }
  if (no) cycle_.Commit({spare.job, Part::kElastic, Verdict::kWait, std::move(*no), {}, {}});
}

// Places the member on the ledger of now, or says in `no` why not. `starts`: the job's minimum
// starts in this cycle, and has left all that was reserved.
bool ElasticMembersPass::PlaceMember(const GangAsk& one, bool starts, std::optional<Reason>& no) {
  if (!starts) {
    for (const Placement& room : reserved_.OfTasks(one)) {
      FreeReserved(cycle_.now().ledger(), snapshot_.task(room.task));
    }
  }
  const Entitlement& entitlement = *cycle_.policies().entitlement;
  if (auto reason = entitlement.Deny(cycle_.now().ledger(), one.job, LeastDemand(snapshot_, one),
                                     Resources{})) {
    no = std::move(reason);
    return false;
  }
  Entitled tried = PlaceEntitled(cycle_.now(), one, [&](const GangAsk& trial) {
    return reservations_.Undelayed(
        trial, [&] { return cycle_.policies().placer->Place(cycle_.now(), trial); });
  });
  if (tried.denied) {
    no = std::move(tried.denied);
    return false;
  }
  if (tried.answer.outcome == Placer::Outcome::kPlaced) return true;
  if (!no) no = reservations_.Delay();
  if (!no) no = ShortageReason(cycle_.now(), one, tried.answer);
  return false;
}

}  // namespace tephra
