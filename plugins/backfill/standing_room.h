// StandingRoom: what a gang has when its reserved start comes, kept from cycle to cycle at the cost of the
// nodes that changed, as long as the gang asks for the same and starts at the same time.
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

 private:
  // What the room rests on beside what runs.
  struct Basis {
    struct Role {
      ClassId cls;
      std::uint32_t generation;
      std::int32_t least;
      std::uint64_t mask, mask_end;

      bool operator==(const Role&) const = default;
    };
    TimeMs at;
    std::uint64_t hardware, config;
    RankSpan within;
    KindSet without;
    std::vector<Role> roles;

    bool operator==(const Basis&) const = default;
  };

  static Basis BasisOf(const Snapshot& snapshot, const GangAsk& ask, TimeMs at);
  // What is free on the node then.
  static void Show(const Snapshot& snapshot, NodeId node, TimeMs at, FreeCounts& free);

  std::optional<Basis> basis_;
  std::optional<CountedRoom> room_;
  std::uint64_t seen_ = 0;  // of the log of nodes
};

}  // namespace tephra
