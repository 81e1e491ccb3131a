// ReservedPlaces: the places that gangs have from a later time on, and what they leave of now and
// of later times.
//
// One owner thread.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "engine/policy.h"
#include "engine/reservation.h"
#include "plugins/backfill/ahead.h"
#include "plugins/backfill/leeway.h"
#include "plugins/backfill/standing_room.h"

namespace tephra {

class ReservedPlaces {
 public:
  using Where = std::vector<Placement>;
  struct Given {
    GangAsk ask;
    Reservation reservation;
    TimeMs until;
    bool moved = false;
  };

  // The arguments outlive it, and the benches have begun. It tries things on `ahead`.
  ReservedPlaces(Workbench& now, Workbench& ahead, StandingRoom& standing);

  const std::vector<Given>& given() const { return given_; }  // by whose turn it was
  const Given* Find(JobId id) const;
  void Give(const GangAsk& ask, const Reservation& reservation);
  // The last one given has another place than its job knows.
  void MovedLast() { given_.back().moved = true; }
  // From now on the decision counts.
  void Follow(const Decision& decision);

  // Whether the gang has that place from `from` on, beside what is reserved for other jobs while it
  // runs.
  bool StandsBeside(const GangAsk& ask, const Where& where, TimeMs from, TimeMs until);
  // A place for it, beside the same.
  std::optional<Where> PlaceBesides(const GangAsk& ask, TimeMs from, TimeMs until);
  // The first time at which it has a place beside the same, before `before`.
  std::optional<Reservation> First(const GangAsk& ask, TimeMs before);

  // Whether every other reservation keeps its place with the gang on `found` from now on.
  bool LeavesAll(const GangAsk& ask, const Where& found, TimeMs until);
  // With the gang started on `found`, other reservations may have a place at the same time
  // elsewhere. The first that has none; invalid: all have one, and keep it from now on.
  JobId Rearrange(const GangAsk& ask, const Where& found, TimeMs until);
  // What the one reservation leaves where there is no other; null: there are several, or none.
  const Leeway* LeewayNow();

  // Charges the gang to the bench: there, or where the placer puts it, if it finds room.
  void Charge(Workbench& bench, const GangAsk& ask, const Where& where) const;
  std::optional<Where> PlaceOn(Workbench& bench, const GangAsk& ask) const;

 private:
  class Walk;

  DurationMs RunOf(JobId id) const { return snapshot_.job(id).estimated_runtime_ms; }
  bool AnyLimit(const GangAsk& ask) const;
  bool MayFit(Workbench& bench, const GangAsk& ask) const;
  bool Stays(const Given& one, const GangAsk& ask, const Where& found,
             const std::set<NodeId>& nodes);
  void ChargeOthers(Workbench& bench, JobId except, TimeMs from, TimeMs until,
                    const std::set<NodeId>* nodes = nullptr) const;
  FreeCounts::Taken TakenOf(const Placement& place) const;
  CountedRoom Counted(const GangAsk& ask, TimeMs at);
  void Reserve(RoomAhead& room, const Given& one) const;
  const RoomAhead& Room();
  TimeMs FirstRoom(const GangAsk& ask, TimeMs before);
  std::optional<Reservation> FirstAlone(const GangAsk& ask, TimeMs before);

  Workbench& bench_;
  const Snapshot& snapshot_;
  Ahead ahead_;
  StandingRoom& standing_;
  // What the plan started so far, and until when; not once it evicts.
  std::vector<std::pair<TimeMs, Placement>> started_;
  bool evicts_ = false;
  std::vector<Given> given_;
  std::optional<Leeway> leeway_;   // beside the one of given_, if it was asked
  std::optional<RoomAhead> room_;  // as of given_, if it was asked
};

}  // namespace tephra
