#include "plugins/preemption/one_node.h"

#include <algorithm>
#include <utility>

namespace tephra {

struct OneNode::Here {
  const NodeTable::Option& option;
  PlaceTrial trial;       // without the pieces that are not given back
  std::int32_t copies;    // that are to fit
  std::vector<bool> out;  // by piece: evicted
  std::vector<VictimRef> victims;

  void Charge(const Piece& piece, int sign) {
    for (const Occupant& part : piece.parts) trial.Charge(part, sign);
  }
};

VictimSearch::Answer OneNode::Run(const std::vector<NodeTable::Option>& options) {
  best_.cost = EvictionCost::Most();
  const Ledger& ledger = later_.ledger();
  const Fit& fit = *later_.policies().fit;
  for (const NodeTable::Option& option : options) {
    if (option.least >= best_.cost) break;
    if (Ended()) {
      MayMiss(option.least);
      break;
    }
    const PlaceTrial trial(ledger, cls_, option.node);
    Here here{option, trial, trial.Copies(fit) + 1, std::vector<bool>(option.pieces->size()), {}};
    for (const Piece& piece : *option.pieces) here.Charge(piece, -1);
    Decide(here, 0, EvictionCost{});
  }
  best_.exact = best_.found ? missed_ >= best_.cost : missed_ == EvictionCost::Most();
  return std::move(best_);
}

// Whether the piece before it is a job of one task of the same queue that frees the same room: if one
// of both is given back, it is that one, which costs no less.
bool OneNode::SeemsAlike(const Here& here, std::size_t piece) const {
  if (piece == 0) return false;
  const std::vector<Piece>& pieces = *here.option.pieces;
  if (pieces[piece].likeness == 0 || pieces[piece].likeness != pieces[piece - 1].likeness) return false;
  const Snapshot& snapshot = book_.snapshot();
  const auto only = [&](std::size_t p) {
    const Candidate& candidate = book_.of((*here.option.refs)[p].front());
    return candidate.victims.size() == 1 ? candidate.job : JobId();
  };
  const JobId a = only(piece - 1), b = only(piece);
  return a.valid() && b.valid() && snapshot.job(a).queue == snapshot.job(b).queue;
}

void OneNode::Decide(Here& here, std::size_t piece, const EvictionCost& cost) {
  if (cost >= best_.cost) return;
  if (Ended()) return MayMiss(cost);
  if (piece == here.option.pieces->size()) return TryAll(here.victims);
  const Piece& one = (*here.option.pieces)[piece];
  if (!(SeemsAlike(here, piece) && here.out[piece - 1])) {
    here.Charge(one, +1);
    ++best_.steps;
    if (here.trial.Copies(*later_.policies().fit) >= here.copies) Decide(here, piece + 1, cost);
    here.Charge(one, -1);
  }
  const std::vector<VictimRef>& refs = (*here.option.refs)[piece];
  const std::size_t before = here.victims.size();
  here.victims.insert(here.victims.end(), refs.begin(), refs.end());
  std::vector<VictimRef> all = here.victims;
  if (complete_(all) && rules_.may_evict_all(all)) {
    here.out[piece] = true;
    Decide(here, piece + 1, cost + one.cost);
    here.out[piece] = false;
  }
  here.victims.resize(before);
}

void OneNode::TryAll(const std::vector<VictimRef>& victims) {
  std::vector<VictimRef> all = victims;
  if (!complete_(all)) return;
  const EvictionCost cost = book_.CostOf(all);
  if (cost >= best_.cost) return;
  // More victims elsewhere might be enough.
  if (!rules_.covers(all)) return MayMiss(cost + EvictionCost{0, 1, 0});
  Attempt attempt(later_.ledger());
  for (const VictimRef ref : all) later_.ledger().Free(book_.at(ref).task);
  if (fits_() != VictimSearch::Fits::kYes) return MayMiss(cost);
  best_.found = true;
  best_.cost = cost;
  best_.victims = std::move(all);
}

}  // namespace tephra
