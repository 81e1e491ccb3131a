#include "engine/entitled.h"

#include <utility>

namespace tephra {

Entitled PlaceEntitled(Workbench& bench, const GangAsk& ask,
                       const std::function<Placer::Answer(const GangAsk&)>& place) {
  Ledger& ledger = bench.ledger();
  const KindSet models = ledger.snapshot().books().kinds.model_kinds();
  const Resources before = ledger.occupancy().queue_total(ask.queue);
  Entitled said;
  GangAsk narrowed;
  for (const GangAsk* trial = &ask;;) {
    Attempt attempt(ledger);
    Placer::Answer answer = place(*trial);
    if (answer.outcome != Placer::Outcome::kPlaced) {
      if (!said.denied) said.answer = answer;
      return said;
    }
    Resources tried = ledger.occupancy().queue_total(ask.queue);
    tried.Add(before, -1);
    std::optional<Reason> denied =
        bench.policies().entitlement->Deny(ledger, ask.job, Resources{}, tried);
    if (!denied) {
      attempt.Keep();
      return {answer, std::nullopt, false};
    }
    const KindSet model = KindSet{1} << denied->binding & models;
    if (!said.denied) said.denied = std::move(denied);  // the first obstacle counts
    if (model == 0 || (trial->without & model) != 0) return said;
    said.maybe_elsewhere = true;
    if (trial == &ask) narrowed = ask;
    narrowed.without |= model;
    trial = &narrowed;
  }
}

}  // namespace tephra
