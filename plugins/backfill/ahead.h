// Ahead: a workbench that shows what is free at a time to come, as what runs is expected to end.
// Between calls it may stand at any time; what a caller tries on it, the caller undoes.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "engine/charged_plan.h"
#include "engine/workbench.h"
#include "plugins/backfill/counted_room.h"
#include "plugins/backfill/room_ahead.h"

namespace tephra {

class Ahead {
 public:
  // The bench has begun, its ledger being that of now.
  explicit Ahead(Workbench& bench);
  ~Ahead() { bench_.ledger().RollBackTo(0); }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // Moves the bench to that time: what is expected to have ended has gone. What is on its way out
  // goes right after now. REQUIRES: nothing is tried on it.
  Workbench& At(TimeMs time);
  // Moves these nodes alone to that time, at the cost of what runs there. The caller undoes it.
  void ShowNodes(const std::set<NodeId>& nodes, TimeMs time);
  // Takes off what ends by that time, from the `next`th end on, on top of what the caller tries.
  // The first end after it.
  std::size_t Pass(std::size_t next, TimeMs time);
  std::size_t passed() const { return marks_.size(); }  // how many ends At() took off
  // Where it stands.
  Workbench& bench() { return bench_; }
  // The times from `from` on and before `before` at which something is expected to go, rising: the
  // first ones, at most `most`.
  std::vector<TimeMs> Ends(TimeMs from, TimeMs before, std::size_t most);
  // What is free at that time.
  FreeCounts FreeAt(TimeMs time);
  // The first time before `before` with enough room; kForever: there is none. `room` is that of now.
  // It then shows that time.
  TimeMs FirstRoom(CountedRoom& room, TimeMs before);
  // What is free now, with what is expected to go.
  RoomAhead Room();
  // From now on the plan's starts and evictions count. A start that waits for what goes counts as
  // of now. REQUIRES: nothing is tried on the bench.
  void Follow(const Decision& decision);

 private:
  struct End {
    TimeMs at;
    TaskId task;
    auto operator<=>(const End&) const = default;
  };

  void List(TimeMs until);
  // Whether ends_[index] is before that time; lists as far as it has to.
  bool Reaches(std::size_t index, TimeMs before);
  void Insert(const End& end);
  void Rewind();
  const Placement* Planned(TaskId id) const;
  NodeId NodeOf(TaskId id) const;
  Placement PlaceOf(TaskId id) const;
  FreeCounts::Taken TakenOf(TaskId id) const;
  QueueId QueueOf(const TaskRow& task) const;
  void Discharge(TaskId gone);
  TimeMs Soon() const { return snapshot_.now() + 1; }

  Workbench& bench_;
  const Snapshot& snapshot_;
  ChargedPlan charges_;
  std::size_t base_;  // of the ledger's log: where it stands at now
  bool listed_ = false;
  TimeMs listed_until_ = 0;
  Timeline::Ends::const_iterator next_;  // to be listed
  std::set<End> later_;                  // to be listed, too: of the plan, and what is on its way out
  std::vector<End> ends_;                // rising: all until listed_until_
  std::map<TaskId, Placement> planned_;  // where the plan starts tasks; the rest run where they are
  std::multimap<NodeId, End> planned_on_;
  std::set<TaskId> evicted_;  // by the plan
  std::vector<std::size_t> marks_;  // of those passed: the log before each went
};

}  // namespace tephra
