#include "plugins/preemption/node_victims.h"

namespace tephra {
namespace {

constexpr std::int32_t kMostSteps = 2000;

// Starts with every piece evicted and gives pieces back, the most expensive first, while the tasks
// fit. Then tries every other choice that could cost less.
class Search {
 public:
  Search(const PlaceTrial& node, const std::vector<Piece>& pieces, std::int32_t copies,
         const Fit& fit)
      : trial_(node), pieces_(pieces), copies_(copies), fit_(fit) {}

  NodeChoice Run() {
    for (const Piece& piece : pieces_) Charge(piece, -1);
    if (!Fits()) return best_;
    evicted_.resize(pieces_.size());
    best_.cost = EvictionCost::Most();
    Decide(0, EvictionCost{});
    best_.exact = steps_ <= kMostSteps;
    return best_;
  }

 private:
  void Charge(const Piece& piece, int sign) {
    for (const Occupant& part : piece.parts) trial_.Charge(part, sign);
  }
  bool Fits() {
    ++steps_;
    return trial_.Copies(fit_) >= copies_;
  }

  void Decide(std::size_t i, EvictionCost cost) {
    if (cost >= best_.cost) return;
    if (i == pieces_.size()) {
      best_.possible = true;
      best_.cost = cost;
      best_.pieces.clear();
      for (std::uint32_t p = 0; p < pieces_.size(); ++p) {
        if (evicted_[p]) best_.pieces.push_back(p);
      }
      return;
    }
    if (steps_ > kMostSteps && best_.possible) return;
    const Piece& piece = pieces_[i];
    const bool as_before =
        i > 0 && piece.likeness != 0 && piece.likeness == pieces_[i - 1].likeness;
    if (!(as_before && evicted_[i - 1])) {
      Charge(piece, +1);
      if (Fits()) Decide(i + 1, cost);
      Charge(piece, -1);
    }
    evicted_[i] = true;
    Decide(i + 1, cost + piece.cost);
    evicted_[i] = false;
  }

  PlaceTrial trial_;
  const std::vector<Piece>& pieces_;
  const std::int32_t copies_;
  const Fit& fit_;
  std::vector<bool> evicted_;
  NodeChoice best_;
  std::int32_t steps_ = 0;
};

}  // namespace

NodeChoice CheapestOnNode(const PlaceTrial& node, const std::vector<Piece>& pieces,
                          std::int32_t copies, const Fit& fit) {
  return Search(node, pieces, copies, fit).Run();
}

}  // namespace tephra
