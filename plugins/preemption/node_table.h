// NodeTable: for one class of tasks and one set of victims, what it costs to have more of the class
// fit on each node, and the cheapest way to have so many more fit on all of them together.
//
// That is a lower bound of what it really costs: nodes are looked at one by one, so a gang that
// runs on several is charged to each in part. Kept current from the ledger's log of changed rows.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "plugins/framework/workbench.h"
#include "plugins/preemption/node_victims.h"
#include "plugins/preemption/victim_book.h"

namespace tephra {

// Those who may be evicted, by the node that they run on.
using VictimsByNode = std::map<NodeId, std::vector<VictimRef>>;

class NodeTable {
 public:
  NodeTable(ClassId cls, const VictimsByNode& victims, const Snapshot& snapshot);

  struct Answer {
    bool possible = false;
    bool exact = true;
    Toll toll;
    std::vector<VictimRef> victims;  // sorted
  };
  // `more`: above 0, than fit now on the nodes within.
  Answer Cheapest(Workbench& later, const VictimBook& book, std::int32_t more,
                  RankSpan within = {});
  // Victims there may go at another price than before.
  void Outdate(NodeId node);

 private:
  struct Node {
    NodeId id;
    const std::vector<VictimRef>* victims;
    bool outdated = true;
    std::int32_t most = 0;  // more that fit if all of them go
    std::vector<Piece> pieces;
    std::vector<std::vector<VictimRef>> refs;  // of each piece
    std::vector<NodeChoice> choices;           // by how many more, from 1
  };
  void Follow(const Ledger& ledger);
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
