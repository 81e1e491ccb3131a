// NodeTable: for one class of tasks, what evictions cost that make room for more tasks of the
// class, on each node and on all nodes together.
//
// The result is a lower bound: nodes are looked at one by one, so a gang on several nodes is
// charged to each node in part. Kept current from the ledger's log of changed rows. Owned by the
// pool of victims that it counts. One thread.
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
  NodeTable(ClassId cls, const VictimsByNode& victims, const Snapshot& snapshot);

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
  // The cost of victims on the node changed.
  void Outdate(NodeId node);

 private:
  struct Node {
    NodeId id;
    const std::vector<VictimRef>* victims;
    bool outdated = true;
    std::int32_t most = 0;  // more tasks that fit if all victims are evicted
    std::vector<Piece> pieces;
    std::vector<std::vector<VictimRef>> refs;  // of each piece
    std::vector<NodeChoice> choices;           // [m - 1]: for m more tasks
  };
  void Follow(const Ledger& ledger);
  // The nodes within, up to date.
  std::span<Node> NodesIn(Workbench& later, const VictimBook& book, RankSpan within);
  void Refresh(Workbench& later, const VictimBook& book, Node& node);
  const NodeChoice& Choice(Workbench& later, Node& node, std::int32_t more);
  std::int32_t FitNow(const Ledger& ledger, const Node& node, const Fit& fit) const;
  Answer OneMore(Workbench& later, std::span<Node> nodes);
  Answer Many(Workbench& later, std::span<Node> nodes, std::int32_t more);
  static void Take(const Node& node, const NodeChoice& choice, Answer& answer);

  ClassId cls_;
  std::vector<Node> nodes_;           // by rank
  std::vector<std::uint32_t> index_;  // by NodeId, into nodes_; kNone
  std::uint64_t rows_seen_ = 0;
};

}  // namespace tephra
