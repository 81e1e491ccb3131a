// CountedRoom: for how many tasks of a gang there is room, by free CPUs and compute of GPUs alone.
//
// One owner thread.
#pragma once

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
  CountedRoom(Workbench& bench, const GangAsk& ask, FreeCounts free);

  // sign +1: the place is free; -1: it is taken.
  void Add(const FreeCounts::Taken& taken, int sign);
  // False: one of the roles does not have enough room.
  bool MayFit() const;
  const std::vector<Role>& roles() const { return roles_; }
  const FreeCounts& free() const { return free_; }

 private:
  std::vector<Role> roles_;
  FreeCounts free_;
};

}  // namespace tephra
