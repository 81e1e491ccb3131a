#include "plugins/preemption/node_table.h"

#include <algorithm>
#include <limits>
#include <set>

namespace tephra {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;
constexpr std::int32_t kUnlimited = std::numeric_limits<std::int32_t>::max();

// The number of nodes with tasks of the job that are not evicted.
std::int64_t NodesOf(const Snapshot& snapshot, const Candidate& candidate) {
  std::set<NodeId> nodes;
  for (const Candidate::Victim& victim : candidate.victims) {
    if (!victim.evicted) nodes.insert(snapshot.task(victim.task).node);
  }
  return static_cast<std::int64_t>(nodes.size());
}

// Equal for tasks that free equal room on the node. 0: like no other.
std::uint64_t LikenessOf(const NodeView& view, const TaskRow& task) {
  const bool equal_devices =
      !view.mixed_models &&
      std::all_of(view.spec.devices.begin(), view.spec.devices.end(), [&](const auto& device) {
        return device.healthy && SameHardware(device, view.spec.devices[0]);
      });
  const bool whole = std::all_of(task.slices.begin(), task.slices.end(), [](const Slice& slice) {
    return slice.mode == SliceMode::kWhole;
  });
  return equal_devices && whole ? std::uint64_t{task.cls.value} + 1 : 0;
}

}  // namespace

NodeTable::NodeTable(ClassId cls, const VictimsByNode& victims, const Snapshot& snapshot)
    : cls_(cls), index_(snapshot.hardware().slots(), kNone) {
  for (const auto& [id, refs] : victims) {
    Node& node = nodes_.emplace_back();
    node.id = id;
    node.victims = &refs;
  }
  std::sort(nodes_.begin(), nodes_.end(), [&](const Node& a, const Node& b) {
    return snapshot.hardware().rank(a.id) < snapshot.hardware().rank(b.id);
  });
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) index_[nodes_[n].id.index()] = n;
}

void NodeTable::Outdate(NodeId node) {
  if (index_[node.index()] != kNone) nodes_[index_[node.index()]].outdated = true;
}

void NodeTable::Follow(const Ledger& ledger) {
  const auto& log = ledger.occupancy().node_log();
  if (!log.Covers(rows_seen_)) {
    for (Node& node : nodes_) node.outdated = true;
  } else {
    log.EachSince(rows_seen_, [this](NodeId node) { Outdate(node); });
  }
  rows_seen_ = log.end();
}

std::int32_t NodeTable::FitNow(const Ledger& ledger, const Node& node, const Fit& fit) const {
  return fit.Copies(ledger.View(node.id), ledger.snapshot().cls(cls_), kUnlimited);
}

// Works out the pieces of the node, which are evicted as a whole, and their costs.
void NodeTable::Refresh(Workbench& later, const VictimBook& book, Node& node) {
  const Ledger& ledger = later.ledger();
  const Snapshot& snapshot = ledger.snapshot();
  const NodeView view = ledger.View(node.id);
  node.outdated = false;
  node.pieces.clear();
  node.refs.clear();
  node.choices.clear();
  node.most = 0;
  const std::uint32_t rank = snapshot.hardware().rank(node.id);
  if (!MayUse(later.rankings().For(cls_).misfit(rank))) return;

  struct Bundle {
    Piece piece;
    std::vector<VictimRef> refs;
  };
  std::vector<Bundle> bundles;
  const auto part = [&](VictimRef ref) -> Piece::Part {
    const TaskRow& task = snapshot.task(book.at(ref).task);
    return {task.cls, &task.slices};
  };
  const std::vector<VictimRef>& refs = *node.victims;
  for (std::size_t i = 0; i < refs.size();) {
    const Candidate& candidate = book.of(refs[i]);
    const std::size_t begin = i;
    Bundle whole;
    for (; i < refs.size() && refs[i].candidate == refs[begin].candidate; ++i) {
      const Candidate::Victim& victim = book.at(refs[i]);
      if (victim.evicted) continue;
      if (candidate.surplus > 0 && candidate.role_surplus[victim.role] > 0) {
        Bundle& one = bundles.emplace_back();
        one.piece.cost = {0, 1, victim.cost};
        one.piece.parts.push_back(part(refs[i]));
        one.piece.likeness = LikenessOf(view, snapshot.task(victim.task));
        one.refs.push_back(refs[i]);
        continue;
      }
      whole.piece.cost += {0, 1, victim.cost};
      whole.piece.parts.push_back(part(refs[i]));
      whole.refs.push_back(refs[i]);
    }
    if (whole.refs.empty() || !candidate.whole) continue;
    whole.piece.cost.gangs = EvictionCost::kGang / NodesOf(snapshot, candidate);
    if (whole.refs.size() == 1) {
      whole.piece.likeness = LikenessOf(view, snapshot.task(book.at(whole.refs[0]).task));
    }
    bundles.push_back(std::move(whole));
  }
  std::sort(bundles.begin(), bundles.end(), [](const Bundle& a, const Bundle& b) {
    if (a.piece.cost != b.piece.cost) return a.piece.cost > b.piece.cost;
    return a.refs < b.refs;
  });
  NodeTrial trial(view);
  for (Bundle& bundle : bundles) {
    for (const Piece::Part& one : bundle.piece.parts) {
      trial.Charge(snapshot.cls(one.cls), *one.slices, -1);
    }
    node.pieces.push_back(std::move(bundle.piece));
    node.refs.push_back(std::move(bundle.refs));
  }
  const Fit& fit = *later.policies().fit;
  node.most = fit.Copies(trial.view(), snapshot.cls(cls_), kUnlimited) - FitNow(ledger, node, fit);
}

const NodeChoice& NodeTable::Choice(Workbench& later, Node& node, std::int32_t more) {
  const Ledger& ledger = later.ledger();
  const Fit& fit = *later.policies().fit;
  while (static_cast<std::int32_t>(node.choices.size()) < more) {
    const auto next = static_cast<std::int32_t>(node.choices.size()) + 1;
    node.choices.push_back(CheapestOnNode(ledger.View(node.id), ledger.snapshot().classes(),
                                          ledger.snapshot().cls(cls_), node.pieces,
                                          FitNow(ledger, node, fit) + next, fit));
  }
  return node.choices[static_cast<std::size_t>(more) - 1];
}

void NodeTable::Take(const Node& node, const NodeChoice& choice, Answer& answer) {
  answer.exact = answer.exact && choice.exact;
  for (const std::uint32_t piece : choice.pieces) {
    answer.victims.insert(answer.victims.end(), node.refs[piece].begin(), node.refs[piece].end());
  }
}

std::span<NodeTable::Node> NodeTable::NodesIn(Workbench& later, const VictimBook& book,
                                              RankSpan within) {
  Follow(later.ledger());
  const Hardware& hardware = later.ledger().snapshot().hardware();
  const auto at = [&](std::uint32_t rank) {
    return std::partition_point(nodes_.begin(), nodes_.end(),
                                [&](const Node& node) { return hardware.rank(node.id) < rank; });
  };
  const std::span<Node> nodes(at(within.first), at(within.last));
  for (Node& node : nodes) {
    if (node.outdated) Refresh(later, book, node);
  }
  return nodes;
}

NodeTable::Answer NodeTable::Cheapest(Workbench& later, const VictimBook& book, std::int32_t more,
                                      RankSpan within) {
  const std::span<Node> nodes = NodesIn(later, book, within);
  Answer answer = more == 1 ? OneMore(later, nodes) : Many(later, nodes, more);
  std::sort(answer.victims.begin(), answer.victims.end());
  return answer;
}

std::vector<NodeTable::Option> NodeTable::Options(Workbench& later, const VictimBook& book,
                                                  RankSpan within) {
  std::vector<Option> options;
  for (Node& node : NodesIn(later, book, within)) {
    if (node.most < 1) continue;
    const NodeChoice& choice = Choice(later, node, 1);
    options.push_back({choice.exact ? choice.cost : EvictionCost{}, node.id, &node.pieces, &node.refs});
  }
  std::stable_sort(options.begin(), options.end(),
                   [](const Option& a, const Option& b) { return a.least < b.least; });
  return options;
}

NodeTable::Answer NodeTable::OneMore(Workbench& later, std::span<Node> nodes) {
  Answer answer;
  Node* best = nullptr;
  for (Node& node : nodes) {
    if (node.most < 1) continue;
    const NodeChoice& choice = Choice(later, node, 1);
    answer.exact = answer.exact && choice.exact;
    if (best == nullptr || choice.cost < answer.cost) best = &node, answer.cost = choice.cost;
  }
  answer.possible = best != nullptr;
  if (best != nullptr) Take(*best, Choice(later, *best, 1), answer);
  return answer;
}

// A knapsack over nodes: the cheapest way to make room for each number of tasks up to `more`.
NodeTable::Answer NodeTable::Many(Workbench& later, std::span<Node> nodes, std::int32_t more) {
  Answer answer;
  const auto width = static_cast<std::size_t>(more) + 1;
  std::int64_t most = 0;
  for (const Node& node : nodes) most += std::max(node.most, 0);
  if (most < more) return answer;
  std::vector<EvictionCost> reached(width, EvictionCost::Most());
  reached[0] = {};
  std::vector<std::vector<std::uint16_t>> taken(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    Node& node = nodes[n];
    const std::int32_t here = std::min(node.most, more);
    if (here < 1) continue;
    taken[n].resize(width);
    for (std::int32_t m = 1; m <= here; ++m) {
      const bool exact = Choice(later, node, m).exact;
      answer.exact = answer.exact && exact;
    }
    for (std::size_t j = width - 1; j > 0; --j) {
      for (std::int32_t m = 1; m <= here && static_cast<std::size_t>(m) <= j; ++m) {
        const EvictionCost& before = reached[j - static_cast<std::size_t>(m)];
        if (before == EvictionCost::Most()) continue;
        const EvictionCost cost = before + node.choices[static_cast<std::size_t>(m) - 1].cost;
        if (cost < reached[j]) {
          reached[j] = cost;
          taken[n][j] = static_cast<std::uint16_t>(m);
        }
      }
    }
  }
  answer.possible = reached.back() != EvictionCost::Most();
  if (!answer.possible) return answer;
  answer.cost = reached.back();
  std::size_t j = width - 1;
  for (std::size_t n = nodes.size(); n-- > 0 && j > 0;) {
    if (taken[n].empty() || taken[n][j] == 0) continue;
    const std::int32_t m = taken[n][j];
    Take(nodes[n], nodes[n].choices[static_cast<std::size_t>(m) - 1], answer);
    j -= static_cast<std::size_t>(m);
  }
  return answer;
}

}  // namespace tephra
