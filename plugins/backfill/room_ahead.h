// RoomAhead: how many tasks have room from when on, by each node's CPUs and the compute of its
// devices alone. A search for a start asks it first: it rules out most times without a placement.
//
// One owner thread.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ledger.h"
#include "engine/policy.h"
#include "plugins/backfill/free_counts.h"
#include "topology/base/time.h"

namespace tephra {

class RoomAhead {
 public:
  // The times at which something that is held goes, with what a gang would find then.
  class Sweep {
   public:
    // REQUIRES: `room` outlives it, and does not change. `run` 0: the gang runs forever.
    Sweep(const RoomAhead& room, const GangAsk& ask, DurationMs run);
    // The next of the times after now at which each role may have room for its tasks, beside all
    // that is held at some time while they run; kForever: there is none.
    TimeMs Next();

   private:
    struct Role {
      CountedNeed need;
      std::int32_t least;
      std::int64_t room = 0;  // tasks, over all nodes
    };

    void Move(std::uint32_t held, int sign);

    const RoomAhead& room_;
    const DurationMs run_;
    std::vector<Role> roles_;
    FreeCounts free_;
    std::size_t joined_ = 0;             // of by_from_
    std::size_t left_ = 0;               // of by_until_
  };

  // What is free on the ledger, which is that of now.
  explicit RoomAhead(const Ledger& ledger);

  // A task holds that place already, until before `until`.
  void Runs(TimeMs until, FreeCounts::Taken taken);
  // The place is reserved for a task, from `from` until before `until`.
  void Reserve(TimeMs from, TimeMs until, FreeCounts::Taken taken);

 private:
  struct Held {
    TimeMs from;
    TimeMs until;
    FreeCounts::Taken taken;
  };

  std::uint32_t Add(TimeMs from, TimeMs until, FreeCounts::Taken taken);

  const ClassTable& classes_;
  const TimeMs now_;
  FreeCounts free_;
  std::vector<Held> held_;
  std::vector<std::uint32_t> by_from_;   // of held_: the reserved places, rising
  std::vector<std::uint32_t> by_until_;  // of held_: all, rising
};

}  // namespace tephra
