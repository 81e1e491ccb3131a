// RoomAhead: how many tasks have room from when on, by each node's CPUs and the compute of its
// devices alone. A search for a start asks it first: it rules out most times without a placement.
//
// One owner thread.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ledger.h"
#include "engine/policy.h"
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
      std::int64_t cpu;
      std::int64_t compute;
      std::int32_t least;
      std::int64_t room = 0;  // tasks, over all nodes
    };

    std::int64_t CopiesOn(const Role& role, std::size_t node) const;
    void Move(std::uint32_t held, int sign);

    const RoomAhead& room_;
    const DurationMs run_;
    std::vector<Role> roles_;
    std::vector<std::int64_t> cpu_;      // free, by node; below zero: held more than once
    std::vector<std::int64_t> compute_;  // by node: what its devices have free, each at least zero
    std::vector<std::int64_t> device_;   // free, by device; below zero: held more than once
    std::size_t joined_ = 0;             // of by_from_
    std::size_t left_ = 0;               // of by_until_
  };

  // What is free on the ledger, which is that of now.
  explicit RoomAhead(const Ledger& ledger);

  // A task holds that place already, until before `until`.
  void Runs(TimeMs until, const TaskClass& cls, const Placement& where);
  // The place is reserved for a task, from `from` until before `until`.
  void Reserve(TimeMs from, TimeMs until, const TaskClass& cls, const Placement& where);

 private:
  struct DevicePart {
    std::uint32_t device;
    std::int32_t compute;
  };
  struct Held {
    TimeMs from;
    TimeMs until;
    std::uint32_t node;
    std::int64_t cpu;
    std::uint32_t first;  // of parts_
    std::uint32_t last;
  };

  std::uint32_t Add(TimeMs from, TimeMs until, const TaskClass& cls, const Placement& where);

  const Hardware& hardware_;
  const ClassTable& classes_;
  const TimeMs now_;
  std::vector<std::int64_t> cpu_;
  std::vector<std::int64_t> compute_;
  std::vector<std::int64_t> device_;
  std::vector<Held> held_;
  std::vector<DevicePart> parts_;
  std::vector<std::uint32_t> by_from_;   // of held_: the reserved places, rising
  std::vector<std::uint32_t> by_until_;  // of held_: all, rising
  std::vector<DeviceCharge> scratch_;
};

}  // namespace tephra
