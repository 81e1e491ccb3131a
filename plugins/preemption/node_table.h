// NodeTable: for one class of tasks, what evictions cost that make room for more tasks of the
// class, on each node and on all nodes together.
//
// The result is a lower bound: nodes are looked at one by one, so a gang on several nodes is
// charged to each node in part. Victims for a node are the tasks that stand in the way there
// (PlaceTrial). If a limit of the class is wider than a node, they may run on other nodes, and each
// node of the cluster is looked at. Kept current from the ledger's logs. Owned by the pool of
// victims that it counts. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/workbench.h"
#include "plugins/preemption/node_victims.h"
#include "plugins/preemption/victim_book.h"

namespace tephra {

// The tasks that may be evicted, by the node that they run on.
using VictimsByNode = std::map<NodeId, std::vector<VictimRef>>;

class NodeTable {
 public:
  NodeTable(ClassId cls, const VictimsByNode& victims, const VictimBook& book);

  struct Answer {
    bool possible = false;
    bool exact = true;
    EvictionCost cost;
    std::vector<VictimRef> victims;  // sorted
  };
  // The cheapest way to make room for `more` tasks, above 0, beyond the tasks that fit now on the
  // nodes within.
  Answer Cheapest(Workbench& later, const VictimBook& book, std::int32_t more,
                  RankSpan within = {});
  // A node on which evictions make room for one more task.
  struct Option {
    EvictionCost least;  // a lower bound of what they cost
    NodeId node;
    const std::vector<Piece>* pieces;
    const std::vector<std::vector<VictimRef>>* refs;  // of each piece
  };
  // The nodes within on which that is so, the lowest bound first. Valid until the ledger changes.
  std::vector<Option> Options(Workbench& later, const VictimBook& book, RankSpan within = {});
  // Whether room for one more task in the cluster always is room for one more task on some node,
  // and all victims for it are counted there.
  bool complete() const { return complete_; }
  // Whether a limit of the class is wider than a node.
  bool wide() const { return !wide_.empty(); }
  // The cost of victims on the node changed.
  void Outdate(NodeId node);

 private:
  struct Node {
    NodeId id;
    const std::vector<VictimRef>* victims;  // that run on it; null: none
    bool outdated = true;
    std::int32_t now = 0;   // tasks that fit
    std::int32_t most = 0;  // more tasks that fit if all victims are evicted
    std::int32_t more = 0;  // the same, or 0 if its domain has room for all that it may have
    std::vector<Piece> pieces;
    std::vector<std::vector<VictimRef>> refs;  // of each piece
    std::vector<NodeChoice> choices;           // [m - 1]: for m more tasks
  };
  // The victims that hold places of a limit which is wider than a node.
  struct WideLimit {
    LimitId limit;
    bool exclusive = false;  // at most one task of the class in a domain
    std::map<std::uint32_t, std::vector<VictimRef>> holders;  // by domain
  };
  void NoteWideLimits(const VictimsByNode& victims, const VictimBook& book);
  std::uint32_t DomainOf(const Snapshot& snapshot, const WideLimit& wide, NodeId node) const;
  std::vector<VictimRef> InTheWay(const Snapshot& snapshot, const Node& node) const;
  void CloseServedDomains(const Snapshot& snapshot, std::span<Node> nodes) const;
  void Follow(const Ledger& ledger);
  // The nodes within, up to date.
  std::span<Node> NodesIn(Workbench& later, const VictimBook& book, RankSpan within);
  void Refresh(Workbench& later, const VictimBook& book, Node& node);
  const NodeChoice& Choice(Workbench& later, Node& node, std::int32_t more);
  std::vector<Node*> NodesToChoose(Workbench& later, std::span<Node> nodes);
  Answer OneMore(Workbench& later, std::span<Node> nodes);
  Answer Many(Workbench& later, std::span<Node> nodes, std::int32_t more);
  static void Take(const Node& node, const NodeChoice& choice, Answer& answer);

  ClassId cls_;
  std::vector<WideLimit> wide_;
  bool complete_ = true;
  std::vector<Node> nodes_;           // by rank
  std::vector<std::uint32_t> index_;  // by NodeId, into nodes_; kNone
  std::uint64_t rows_seen_ = 0, limits_seen_ = 0;
};

}  // namespace tephra
