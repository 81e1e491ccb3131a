// CountedRoom: for how many tasks of a gang there is room, by free CPUs and compute of GPUs alone.
//
// One owner thread.
#pragma once

#include <utility>
#include <vector>

#include "engine/workbench.h"
#include "plugins/backfill/free_counts.h"

namespace tephra {

class CountedRoom {
 public:
  struct Role {
    CountedNeed need;
    std::int64_t spare;          // tasks with room beyond the need of the role
    std::vector<bool> eligible;  // by node
  };

  // `bench` says which nodes the gang may use.
  CountedRoom(Workbench& bench, const GangAsk& ask, FreeCounts free) : free_(std::move(free)) {
    AskFor(bench, ask);
  }
  // Counts for this gang from now on.
  void AskFor(Workbench& bench, const GangAsk& ask);

  // sign +1: the place is free; -1: it is taken.
  void Add(const FreeCounts::Taken& taken, int sign);
  // The nodes that Add changed since the last call, and nodes more than once.
  std::vector<NodeId> TakeTouched() { return std::exchange(touched_, {}); }
  // Counts the node again: `show` writes what it has free. `bench` and `ask` as when it was made.
  template <class Show>
  void Renew(Workbench& bench, const GangAsk& ask, NodeId node, Show show) {
    Count(node, -1);
    show(free_);
    for (std::size_t r = 0; r < roles_.size(); ++r) {
      roles_[r].eligible[node.index()] = Eligible(bench, ask, ask.roles[r], node);
    }
    Count(node, +1);
  }
  // False: one of the roles does not have enough room.
  bool MayFit() const;
  const std::vector<Role>& roles() const { return roles_; }
  const FreeCounts& free() const { return free_; }

 private:
  static bool Eligible(Workbench& bench, const GangAsk& ask, const RoleAsk& role, NodeId node);
  // Counts the node in, or with -1 out.
  void Count(NodeId node, int sign);

  std::vector<Role> roles_;
  FreeCounts free_;
  std::vector<NodeId> touched_;
};

}  // namespace tephra
