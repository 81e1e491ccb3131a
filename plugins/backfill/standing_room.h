// StandingRoom: how many tasks of a gang each node has room for at a time to come. It is kept between
// cycles, and only nodes that changed are counted again. If the time moves, it counts the nodes where a
// task ends in between. For another request it counts all nodes.
//
// Derived: dropping it changes no decision. One owner thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/workbench.h"
#include "plugins/backfill/counted_room.h"

namespace tephra {

class StandingRoom final : public ReservationMemory {
 public:
  // As the Snapshot has it, without decisions of this cycle. The caller may take room from it, which is
  // forgotten with the next call. `now`: where it is asked which nodes the gang may use.
  CountedRoom& At(Workbench& now, const GangAsk& ask, TimeMs at);
  // REQUIRES: the caller added to the room all tasks that end by that time, and changed nothing else.
  void MovedTo(TimeMs at);

 private:
  // What of the gang the room rests on.
  struct Basis {
    struct Role {
      ClassId cls;
      std::uint32_t generation;
      std::int32_t least;
      std::uint64_t mask, mask_end;

      bool operator==(const Role&) const = default;
    };
    RankSpan within;
    KindSet without;
    std::vector<Role> roles;

    bool operator==(const Basis&) const = default;
  };

  static constexpr TimeMs kNow = 0;  // nothing has gone, not even what is on its way out

  static Basis BasisOf(const Snapshot& snapshot, const GangAsk& ask);
  // What is free on the node then.
  static void Show(const Snapshot& snapshot, NodeId node, TimeMs at, FreeCounts& free);

  void Renew(Workbench& now, const GangAsk& ask, TimeMs at);

  std::optional<Basis> basis_;
  std::optional<CountedRoom> room_;
  TimeMs at_ = kNow;            // of the room
  std::uint64_t hardware_ = 0;  // Hardware::version
  std::uint64_t config_ = 0;    // Books::config_version
  std::uint64_t seen_ = 0;      // of the log of nodes
  std::vector<std::uint64_t> renewed_;  // by NodeId: the last call of Renew that counted it again
  std::uint64_t renewals_ = 0;
};

}  // namespace tephra
