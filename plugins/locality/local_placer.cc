#include "plugins/locality/local_placer.h"

#include <algorithm>
#include <vector>

#include "engine/gang_ask.h"
#include "plugins/locality/candidates.h"
#include "plugins/locality/packing_plan.h"

namespace tephra {
namespace {

// Places the gang on the fewest parts of the domain, role by role, the hardest first. Tasks follow
// the row of nodes in the order of their indexes, so neighbours in a ring are near each other.
bool Pack(Workbench& bench, const GangAsk& ask, std::uint32_t domain) {
  Ledger& ledger = bench.ledger();
  const Snapshot& snapshot = ledger.snapshot();
  Attempt attempt(ledger);
  std::int32_t open = ask.least;
  for (const RoleAsk& role : ask.roles) open -= role.least;
  for (const std::size_t r : HardestFirst(snapshot, ask)) {
    const RoleAsk& role = ask.roles[r];
    const std::int32_t more =
        std::min(open, static_cast<std::int32_t>(role.tasks.size()) - role.least);
    open -= more;
    const std::int32_t tasks = role.least + more;
    if (tasks == 0) continue;
    const std::vector<NodeShare> plan = PackingPlan(
        snapshot.hardware(), bench.rankings().WithRoom(role.cls, ask.without), domain, tasks);
    std::int32_t placed = 0;
    for (const NodeShare& share : plan) {
      const NodeId node = snapshot.hardware().ranked()[share.rank];
      for (std::int32_t i = 0; i < share.tasks; ++i, ++placed) {
        if (!bench.rankings().For(role.cls, ask.without).Fits(share.rank)) return false;
        Slices slices = bench.policies().fit->Choose(
            ledger.View(node), bench.rankings().ClassOf(role.cls, ask.without),
            DrawOf(snapshot, ask, role, placed));
        ledger.Charge(role.cls, ask.queue,
                      {role.tasks[static_cast<std::size_t>(placed)], node, std::move(slices)});
      }
    }
    if (placed < tasks) return false;
  }
  if (open > 0) return false;
  attempt.Keep();
  return true;
}

}  // namespace

// Searches the widest domains exactly, after packing failed in each domain. A gang that fits into a
// part of a domain fits into the domain.
Placer::Answer LocalPlacer::SearchDomains(Workbench& bench, const GangAsk& ask,
                                          const std::vector<std::uint32_t>& widest,
                                          Answer answer) const {
  bool unknown = false;
  for (const std::uint32_t domain : widest) {
    if (answer.steps > budget_) unknown = true;
    if (unknown) break;
    GangAsk inside = ask;
    inside.within = FabricOf(bench).domains()[domain].span;
    const Answer found = anywhere_->Place(bench, inside);
    answer.steps += found.steps;
    if (found.outcome == Outcome::kPlaced) return found;
    unknown = found.outcome == Outcome::kUnknown;
  }
  answer.outcome = unknown ? Outcome::kUnknown : Outcome::kImpossible;
  return Apart(bench, ask, answer);
}

Placer::Answer LocalPlacer::Place(Workbench& bench, const GangAsk& ask) const {
  const bool alone = ask.least <= 1 && ask.around.empty();
  if (!ask.tied() && (!ask.near || alone || FabricOf(bench).empty())) {
    return anywhere_->Place(bench, ask);
  }
  Answer answer;
  const std::vector<DomainCandidate> candidates = CandidatesOf(bench, ask);
  std::size_t tries = 0;
  for (const DomainCandidate& candidate : candidates) {
    if (++tries > kMostTries && (!ask.tied() || answer.steps > budget_)) break;
    answer.steps += ask.least;
    if (Pack(bench, ask, candidate.domain)) {
      answer.outcome = Outcome::kPlaced;
      return answer;
    }
  }
  if (ask.tied()) {
    std::vector<std::uint32_t> widest;
    for (const DomainCandidate& candidate : candidates) {
      const std::uint32_t up = FabricOf(bench).domains()[candidate.domain].parent;
      const bool farther = up != Fabric::kNone &&
                           FabricOf(bench).domains()[up].tier <= ask.highest_tier &&
                           ask.within.contains(FabricOf(bench).domains()[up].span);
      if (!farther) widest.push_back(candidate.domain);
    }
    return SearchDomains(bench, ask, widest, answer);
  }
  if (ask.around.empty() && ask.within.everywhere() && Pack(bench, ask, Fabric::kNone)) {
    answer.outcome = Outcome::kPlaced;
    return answer;
  }
  return anywhere_->Place(bench, ask);
}

}  // namespace tephra
