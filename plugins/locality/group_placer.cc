#include "plugins/locality/group_placer.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/gang_ask.h"
#include "engine/proofs.h"
#include "plugins/locality/candidates.h"

namespace tephra {
namespace {

// How many orders of the sub-groups are tried in one domain.
constexpr std::size_t kMostTurns = 8;

// Beyond so many times the budget a gang with sub-groups is tried no further, at any level.
constexpr std::int32_t kMostBudgets = 8;

struct AskPiece {
  GangAsk ask;
  std::optional<std::size_t> group;  // index into the gang's groups; none: roles of no group
};

// The outermost sub-groups, the least flexible first, and then the roles of no sub-group.
std::vector<AskPiece> PiecesOf(const Snapshot& snapshot, const GangAsk& ask) {
  std::vector<AskPiece> pieces;
  for (std::size_t g = 0; g < ask.groups.size(); g = ask.groups[g].end_group) {
    if (ask.groups[g].least > 0) pieces.push_back({PartOf(ask, g), g});
  }
  const auto hardness = [&](const AskPiece& piece) {
    const Resources demand = LeastDemand(snapshot, piece.ask);
    return std::tuple(!piece.ask.around.empty(), -piece.ask.highest_tier, demand[kGpu],
                      demand[kGpuMemory], demand[kCpu], demand[kMemory]);
  };
  std::stable_sort(pieces.begin(), pieces.end(),
                   [&](const AskPiece& a, const AskPiece& b) { return hardness(a) > hardness(b); });
  if (GangAsk rest = RestOf(ask); rest.least > 0) pieces.push_back({std::move(rest), std::nullopt});
  return pieces;
}

}  // namespace

// Places one piece. The answer is about the piece: which of the sub-groups inside it found no place
// is said aside.
Placer::Answer GroupPlacer::PlacePiece(Workbench& bench, const GangAsk& piece) const {
  Answer answer = Place(bench, piece);
  if (piece.groups.empty()) return answer;
  ++answer.steps;
  if (!answer.group_short) return answer;
  Answer inside = answer;
  answer.inside.assign(1, std::move(inside));
  answer.role_short += static_cast<std::int32_t>(piece.groups[*answer.group_short].first_role);
  answer.group_short.reset();
  answer.groups_placed = 0;
  return answer;
}

// Places the pieces one after another. A piece without room goes first in the next turn. The gang
// is proven impossible only if a piece has no room alone.
Placer::Answer GroupPlacer::PlaceInside(Workbench& bench, const GangAsk& ask) const {
  std::vector<AskPiece> pieces = PiecesOf(bench.ledger().snapshot(), ask);
  Answer answer;
  std::int32_t steps = 0;
  for (std::size_t turn = 0; turn < std::min(pieces.size(), kMostTurns); ++turn) {
    Answer said;
    std::size_t next = 0;
    {
      Attempt attempt(bench.ledger());
      for (; next < pieces.size(); ++next) {
        said = PlacePiece(bench, pieces[next].ask);
        steps += said.steps;
        if (said.outcome != Outcome::kPlaced) break;
      }
      if (next == pieces.size()) {
        attempt.Keep();
        said.steps = steps;
        return said;
      }
    }
    said.group_short = pieces[next].group;
    said.groups_placed = static_cast<std::int32_t>(next);
    if (next > 0) {
      Attempt alone(bench.ledger());
      Answer by_itself = PlacePiece(bench, pieces[next].ask);
      steps += by_itself.steps;
      if (by_itself.outcome == Outcome::kPlaced) {
        said.outcome = Outcome::kUnknown;
      } else {
        by_itself.group_short = said.group_short;
        said = by_itself;
        next = 0;
      }
    }
    if (turn == 0 || said.groups_placed > answer.groups_placed || next == 0) answer = said;
    // The piece has no room alone, or another order would only swap equal pieces.
    if (next == 0 || Proofs::ShapeOf(pieces[next].ask) == Proofs::ShapeOf(pieces[0].ask)) break;
    if (steps / kMostBudgets > budget_) {
      answer.outcome = Outcome::kUnknown;
      break;
    }
    std::rotate(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(next),
                pieces.begin() + static_cast<std::ptrdiff_t>(next) + 1);
  }
  answer.steps = steps;
  return answer;
}

// Tries the domains, the lowest tier first.
Placer::Answer GroupPlacer::Place(Workbench& bench, const GangAsk& ask) const {
  if (ask.groups.empty()) return one_->Place(bench, ask);
  Answer answer;
  const auto within = [&](RankSpan span) {
    GangAsk inside = ask;
    inside.within = span;
    const Answer found = PlaceInside(bench, inside);
    const std::int32_t steps = answer.steps + found.steps;
    // The answer describes the domain that took the most sub-groups.
    if (found.outcome == Outcome::kPlaced || !answer.group_short ||
        found.groups_placed > answer.groups_placed) {
      answer = found;
    }
    answer.steps = steps;
    return found.outcome;
  };
  if (!ask.tied() && (!ask.near || FabricOf(bench).empty())) {
    within(ask.within);
    return answer;
  }
  bool unknown = false;
  std::size_t tries = 0;
  for (const DomainCandidate& candidate : CandidatesOf(bench, ask)) {
    const bool many = ++tries > kMostTries && (!ask.tied() || answer.steps > budget_);
    if (many || answer.steps / kMostBudgets > budget_) {
      unknown = true;
      break;
    }
    const Outcome found = within(FabricOf(bench).domains()[candidate.domain].span);
    if (found == Outcome::kPlaced) return answer;
    unknown = unknown || found == Outcome::kUnknown;
  }
  if (!ask.tied()) {
    answer = Answer{};  // the answer describes the whole gang
    within(ask.within);
    return answer;
  }
  if (tries == 0) return Apart(bench, ask, answer);
  answer.outcome = unknown ? Outcome::kUnknown : Outcome::kImpossible;
  return answer;
}

}  // namespace tephra
