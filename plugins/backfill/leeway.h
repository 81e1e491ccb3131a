// Leeway: which nodes a gang may take now although another gang has a reserved start. It counts
// alone, so it rules out most gangs without a placement.
//
// One owner thread.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "plugins/backfill/counted_room.h"

namespace tephra {

class Leeway {
 public:
  // `then`: what the reserved gang has when it starts. Nothing else is reserved while it runs.
  // The arguments outlive it, and it takes from that room.
  Leeway(Workbench& now, CountedRoom& then) : now_(now), then_(then) {}
  Leeway(Workbench& now, CountedRoom&& then) : now_(now), own_(std::move(then)), then_(*own_) {}
  Leeway(const Leeway&) = delete;
  Leeway& operator=(const Leeway&) = delete;

  // A task started that runs beyond the start of the reservation.
  void Take(const FreeCounts::Taken& taken) { then_.Add(taken, -1); }
  // False: wherever the gang starts, too few nodes are left for the reservation, on whichever nodes
  // it is. The gang is charged on `found`.
  bool MayStart(const GangAsk& ask, const std::vector<Placement>& found) const;
  // The same for one task on the node.
  bool MayTake(const CountedNeed& need, NodeId node) const;

 private:
  // How many tasks of `need` the node has for it, at most `most`.
  std::int64_t Left(const CountedNeed& need, std::size_t node, std::int64_t most) const;

  Workbench& now_;
  std::optional<CountedRoom> own_;
  CountedRoom& then_;
};

}  // namespace tephra
