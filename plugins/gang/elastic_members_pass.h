// ElasticMembersPass: members of jobs beyond their minimums, once all minimums have had their turns.
// Each member, or group that has not begun, stands for itself.
#pragma once

#include <optional>
#include <vector>

#include "plugins/gang/reserved_room.h"
#include "plugins/gang/start_reservations.h"

namespace tephra {

class ElasticMembersPass {
 public:
  // A job with members to spare, and what of its minimum started in this cycle.
  struct Spare {
    JobId job;
    bool starts = false;
    std::vector<Placement> placed;
  };

  // All outlive the pass.
  ElasticMembersPass(Cycle& cycle, StartReservations& reservations, const ReservedRoom& reserved)
      : cycle_(cycle),
        snapshot_(cycle.snapshot()),
        reservations_(reservations),
        reserved_(reserved) {}

  void Add(Spare spare) { spares_.push_back(std::move(spare)); }
  void Run() {
    for (const Spare& spare : spares_) {
      if (!cycle_.evicts(spare.job)) Place(spare);
    }
  }

 private:
  void Place(const Spare& spare);
  bool PlaceMember(const GangAsk& one, bool starts, std::optional<Reason>& no);

  Cycle& cycle_;
  const Snapshot& snapshot_;
  StartReservations& reservations_;
  const ReservedRoom& reserved_;
  std::vector<Spare> spares_;
};

}  // namespace tephra
