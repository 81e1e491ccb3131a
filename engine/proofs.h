// Proofs: what placers and evictions answered for a gang's shape, so that many gangs of one shape
// are tried once. Derived: dropping it changes no decision. One owner thread.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "engine/policy.h"
#include "engine/priority.h"

namespace tephra {

class Proofs {
 public:
  // What a placer can tell apart of an ask: its roles, minimums and groups, the GPU models and
  // nodes that it may use, and the domains that it has to be in. Equal only for equal asks.
  using Shape = std::vector<std::uint32_t>;
  static Shape ShapeOf(const GangAsk& ask);

  // Forgets what the versions outdate.
  void Begin(const Snapshot& snapshot);

  // On the ledger of this cycle; the next would say no for another reason. REQUIRES of callers:
  // charges since the proof only added; else RoomCame.
  std::map<Shape, Placer::Answer> now;
  // On the empty cluster.
  std::map<Shape, Placer::Answer> empty;
  // That no evictions were found for a gang of that queue and priority, proven or not; `bool`:
  // JobRow::is_protected. For this cycle; the next one may know of other victims. REQUIRES of callers: as for `now`, and an
  // evicted task stays evicted.
  std::map<std::tuple<QueueId, Precedence, bool, Shape>, VictimSelection::Answer> selections;

  // How often a gang has left its reserved room.
  std::uint64_t rooms_came = 0;
  // A gang has left its reserved room.
  void RoomCame() {
    ++rooms_came;
    now.clear();
    selections.clear();
  }

 private:
  std::uint64_t hardware_ = 0, config_ = 0, classes_ = 0;
};

}  // namespace tephra
