#include "plugins/preemption/node_table.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace tephra {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;
// Of a domain with more holders than this no holder is evicted for a task on another node. It keeps
// the look at a node short.
constexpr std::size_t kMostHolders = 64;

// The part of the gang that is charged to its tasks on one of the nodes with tasks that are not evicted.
std::int64_t PartOn(const Snapshot& snapshot, const Candidate& candidate, NodeId node) {
  std::set<NodeId> nodes;
  for (const Candidate::Victim& victim : candidate.victims) {
    if (!victim.evicted) nodes.insert(snapshot.task(victim.task).node);
  }
  const auto here = nodes.find(node);
  const auto i = here == nodes.end() ? 0 : std::distance(nodes.begin(), here);
  return EvictionCost::PartOfGang(i, static_cast<std::int64_t>(nodes.size()));
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

// Whether a domain has a place for no task with this limit, or for any number of them. If not, two tasks
// on two nodes of a domain may become possible although neither node has room for one more.
bool AllOrNothing(const Snapshot& snapshot, LimitId limit, const DomainLimit& asked) {
  if (!asked.counted) return true;
  if (asked.max != DomainLimit::kNoBound) return false;
  for (std::size_t c = 0; c < snapshot.classes().size(); ++c) {
    const TaskClass& cls = snapshot.cls(ClassId(c));
    for (std::size_t i = 0; i < cls.limits.size(); ++i) {
      const std::int32_t max = cls.pod.limits[i].max;
      if (cls.limits[i] == limit && max > 1 && max != DomainLimit::kNoBound) return false;
    }
  }
  return true;
}

}  // namespace

NodeTable::NodeTable(ClassId cls, const VictimsByNode& victims, const VictimBook& book)
    : cls_(cls), index_(book.snapshot().hardware().slots(), kNone) {
  const Hardware& hardware = book.snapshot().hardware();
  NoteWideLimits(victims, book);
  const auto add = [&](NodeId id) {
    const auto here = victims.find(id);
    Node& node = nodes_.emplace_back();
    node.id = id;
    node.victims = here == victims.end() ? nullptr : &here->second;
  };
  if (wide_.empty()) {
    for (const auto& [id, refs] : victims) add(id);
  } else {
    for (const NodeId id : hardware.ranked()) add(id);
  }
  std::sort(nodes_.begin(), nodes_.end(), [&](const Node& a, const Node& b) {
    return hardware.rank(a.id) < hardware.rank(b.id);
  });
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) index_[nodes_[n].id.index()] = n;
}

void NodeTable::NoteWideLimits(const VictimsByNode& victims, const VictimBook& book) {
  const Snapshot& snapshot = book.snapshot();
  const TaskClass& asks = snapshot.cls(cls_);
  for (std::size_t i = 0; i < asks.limits.size(); ++i) {
    if (snapshot.classes().topology_key(asks.limits[i]) == kHostnameKey) continue;
    const DomainLimit& limit = asks.pod.limits[i];
    wide_.push_back({asks.limits[i], limit.counted && limit.max == 1, {}});
    complete_ = complete_ && (wide_.back().exclusive || AllOrNothing(snapshot, asks.limits[i], limit));
  }
  if (wide_.empty()) return;
  for (const auto& [node, refs] : victims) {
    for (const VictimRef ref : refs) {
      const TaskClass& holds = snapshot.cls(snapshot.task(book.at(ref).task).cls);
      for (WideLimit& wide : wide_) {
        const auto& limits = holds.limits;
        if (std::find(limits.begin(), limits.end(), wide.limit) == limits.end()) continue;
        const std::uint32_t domain = DomainOf(snapshot, wide, node);
        if (domain != Hardware::kNoDomain) wide.holders[domain].push_back(ref);
      }
    }
  }
  for (WideLimit& wide : wide_) {
    for (auto& [domain, holders] : wide.holders) {
      if (holders.size() <= kMostHolders) continue;
      holders.clear();
      complete_ = false;
    }
  }
}

std::uint32_t NodeTable::DomainOf(const Snapshot& snapshot, const WideLimit& wide,
                                  NodeId node) const {
  return snapshot.hardware().domain(snapshot.classes().topology_key(wide.limit), node);
}

// The victims on the node, and the victims that hold a place in a domain of it; sorted.
std::vector<VictimRef> NodeTable::InTheWay(const Snapshot& snapshot, const Node& node) const {
  std::vector<VictimRef> refs;
  if (node.victims != nullptr) refs = *node.victims;
  for (const WideLimit& wide : wide_) {
    const auto holders = wide.holders.find(DomainOf(snapshot, wide, node.id));
    if (holders == wide.holders.end()) continue;
    refs.insert(refs.end(), holders->second.begin(), holders->second.end());
  }
  std::sort(refs.begin(), refs.end());
  refs.erase(std::unique(refs.begin(), refs.end()), refs.end());
  return refs;
}

void NodeTable::Outdate(NodeId node) {
  if (!wide_.empty()) {
    for (Node& one : nodes_) one.outdated = true;
  } else if (index_[node.index()] != kNone) {
    nodes_[index_[node.index()]].outdated = true;
  }
}

void NodeTable::Follow(const Ledger& ledger) {
  const auto& rows = ledger.occupancy().node_log();
  const auto& limits = ledger.occupancy().limit_log();
  bool all = !rows.Covers(rows_seen_);
  if (!wide_.empty()) {
    all = all || !limits.Covers(limits_seen_);
    const auto look = [&](LimitId limit) {
      for (const WideLimit& wide : wide_) all = all || wide.limit == limit;
    };
    if (!all) limits.EachSince(limits_seen_, look);
  }
  if (all) {
    for (Node& node : nodes_) node.outdated = true;
  } else {
    rows.EachSince(rows_seen_, [this](NodeId node) {
      if (index_[node.index()] != kNone) nodes_[index_[node.index()]].outdated = true;
    });
  }
  rows_seen_ = rows.end();
  limits_seen_ = limits.end();
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
  node.now = node.most = 0;
  const std::uint32_t rank = snapshot.hardware().rank(node.id);
  if (!MayUse(later.rankings().For(cls_).misfit(rank))) return;

  struct Bundle {
    Piece piece;
    std::vector<VictimRef> refs;
  };
  std::vector<Bundle> bundles;
  const auto part = [&](VictimRef ref) -> Occupant {
    const TaskRow& task = snapshot.task(book.at(ref).task);
    return {task.cls, task.node, &task.slices};
  };
  const auto likeness = [&](VictimRef ref) {
    const TaskRow& task = snapshot.task(book.at(ref).task);
    return task.node == node.id ? LikenessOf(view, task) : 0;
  };
  const std::vector<VictimRef> refs = InTheWay(snapshot, node);
  for (std::size_t i = 0; i < refs.size();) {
    const Candidate& candidate = book.of(refs[i]);
    const std::size_t begin = i;
    Bundle whole;
    for (; i < refs.size() && refs[i].candidate == refs[begin].candidate; ++i) {
      const Candidate::Victim& victim = book.at(refs[i]);
      if (victim.evicted) continue;
      const bool spare = candidate.surplus > 0 && candidate.role_surplus[victim.role] > 0;
      if (spare || candidate.alone) {
        Bundle& one = bundles.emplace_back();
        const auto tasks = static_cast<std::int64_t>(candidate.victims.size());
        one.piece.cost = {spare ? 0 : EvictionCost::PartOfGang(refs[i].victim, tasks), 1, victim.cost};
        one.piece.parts.push_back(part(refs[i]));
        one.piece.likeness = likeness(refs[i]);
        one.refs.push_back(refs[i]);
        continue;
      }
      whole.piece.cost += {0, 1, victim.cost};
      whole.piece.parts.push_back(part(refs[i]));
      whole.refs.push_back(refs[i]);
    }
    if (whole.refs.empty() || !candidate.whole) continue;
    whole.piece.cost.gangs = PartOn(snapshot, candidate, node.id);
    if (whole.refs.size() == 1) whole.piece.likeness = likeness(whole.refs[0]);
    bundles.push_back(std::move(whole));
  }
  std::sort(bundles.begin(), bundles.end(), [](const Bundle& a, const Bundle& b) {
    if (a.piece.cost != b.piece.cost) return a.piece.cost > b.piece.cost;
    return a.refs < b.refs;
  });
  PlaceTrial trial(ledger, cls_, node.id);
  const Fit& fit = *later.policies().fit;
  node.now = trial.Copies(fit);
  for (Bundle& bundle : bundles) {
    for (const Occupant& one : bundle.piece.parts) trial.Charge(one, -1);
    node.pieces.push_back(std::move(bundle.piece));
    node.refs.push_back(std::move(bundle.refs));
  }
  node.most = trial.Copies(fit) - node.now;
}

const NodeChoice& NodeTable::Choice(Workbench& later, Node& node, std::int32_t more) {
  while (static_cast<std::int32_t>(node.choices.size()) < more) {
    const auto next = static_cast<std::int32_t>(node.choices.size()) + 1;
    node.choices.push_back(CheapestOnNode(PlaceTrial(later.ledger(), cls_, node.id), node.pieces,
                                          node.now + next, *later.policies().fit));
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
    node.more = node.most;
  }
  if (!wide_.empty() && wide_[0].exclusive) CloseServedDomains(later.ledger().snapshot(), nodes);
  return nodes;
}

// A domain takes one task, so one in which some node has room gets no more by evictions.
void NodeTable::CloseServedDomains(const Snapshot& snapshot, std::span<Node> nodes) const {
  std::set<std::uint32_t> served;
  for (const Node& node : nodes) {
    const std::uint32_t domain = DomainOf(snapshot, wide_[0], node.id);
    if (node.now > 0 && domain != Hardware::kNoDomain) served.insert(domain);
  }
  for (Node& node : nodes) {
    if (served.contains(DomainOf(snapshot, wide_[0], node.id))) node.more = 0;
  }
}

// The nodes on which evictions help; of a domain that takes one task, the node on which that task
// costs least.
std::vector<NodeTable::Node*> NodeTable::NodesToChoose(Workbench& later, std::span<Node> nodes) {
  std::vector<Node*> chosen;
  std::map<std::uint32_t, std::size_t> of_domain;  // index into chosen
  for (Node& node : nodes) {
    if (node.more < 1) continue;
    const std::uint32_t domain = wide_.empty() || !wide_[0].exclusive
                                     ? Hardware::kNoDomain
                                     : DomainOf(later.ledger().snapshot(), wide_[0], node.id);
    const auto [it, fresh] = of_domain.try_emplace(domain, chosen.size());
    if (fresh || domain == Hardware::kNoDomain) {
      chosen.push_back(&node);
    } else if (Choice(later, node, 1).cost < Choice(later, *chosen[it->second], 1).cost) {
      chosen[it->second] = &node;
    }
  }
  return chosen;
}

NodeTable::Answer NodeTable::Cheapest(Workbench& later, const VictimBook& book, std::int32_t more,
                                      RankSpan within) {
  const std::span<Node> nodes = NodesIn(later, book, within);
  Answer answer = more == 1 ? OneMore(later, nodes) : Many(later, nodes, more);
  // For several tasks a holder may be in the way on several nodes, and would count for each.
  const bool once = wide_.empty() || (wide_.size() == 1 && wide_[0].exclusive);
  answer.exact = answer.exact && complete_ && (more == 1 || once);
  std::sort(answer.victims.begin(), answer.victims.end());
  return answer;
}

std::vector<NodeTable::Option> NodeTable::Options(Workbench& later, const VictimBook& book,
                                                  RankSpan within) {
  std::vector<Option> options;
  for (Node& node : NodesIn(later, book, within)) {
    if (node.more < 1) continue;
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
    if (node.more < 1) continue;
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
  const std::vector<Node*> chosen = NodesToChoose(later, nodes);
  std::int64_t most = 0;
  for (const Node* node : chosen) most += node->more;
  if (most < more) return answer;
  std::vector<EvictionCost> reached(width, EvictionCost::Most());
  reached[0] = {};
  std::vector<std::vector<std::uint16_t>> taken(chosen.size());
  for (std::size_t n = 0; n < chosen.size(); ++n) {
    Node& node = *chosen[n];
    const std::int32_t here = std::min(node.more, more);
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
  for (std::size_t n = chosen.size(); n-- > 0 && j > 0;) {
    if (taken[n][j] == 0) continue;
    const std::int32_t m = taken[n][j];
    Take(*chosen[n], chosen[n]->choices[static_cast<std::size_t>(m) - 1], answer);
    j -= static_cast<std::size_t>(m);
  }
  return answer;
}

}  // namespace tephra
