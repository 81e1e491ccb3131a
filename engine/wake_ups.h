// WakeUps: which pending jobs the next cycle asks. A job is asked because it changed itself,
// because capacity grew where it may be placed, or because other jobs may be evicted or moved from
// now on.
//
// Part of State; one owner thread.
#pragma once

#include <map>
#include <vector>

#include "engine/capacity_event.h"
#include "engine/reach.h"
#include "engine/snapshot.h"

namespace tephra {

struct Policies;

// Adds all pending jobs: the lines, and single jobs. Jobs with a reserved start are among these, even
// if they stand in a line.
void AddAll(const Books& books, Due& due);

// Adds the lines that a change of reserved starts may help, and that is all that changed. The jobs of
// the other lines may get a reservation that another job lost.
void AddAfterLostReservation(const Books& books, Due& due);

class WakeUps {
 public:
  // Some job may have a new answer.
  bool any() const {
    return !due_.empty() || capacity_.times() > 0 || !evictable_.empty() || times_out_;
  }
  // A job has run with less than its minimum for too long.
  bool times_out() const { return times_out_; }

  // The job itself changed.
  void MarkDue(JobRow& job, JobId id);
  // The job is gone.
  void Forget(const JobRow& job, JobId id);
  // Other jobs may have it evicted or moved from now on, or from a time on.
  void Evictable(JobId id);
  void EvictableAt(TimeMs at, JobId id) { ripening_.emplace(at, id); }
  // Room has grown.
  CapacityEvent& capacity() { return capacity_; }
  // A task left its room. `expected_end` as in TaskRow.
  void Left(NodeId node, TimeMs expected_end);
  // The job is asked again at JobRow::evictions_from.
  void AskAt(TimeMs at, JobId id) { held_.emplace(at, id); }
  // The job may evict from then on, and is asked again (JobRow::delayed_until).
  void DelayedUntil(TimeMs at, JobId id) { delayed_.emplace(at, id); }
  // The next time at which a delay or a timeout passes; 0: none does.
  TimeMs NextPassed(const Books& books) const;
  // Time alone may change an answer then.
  void AskAgainAt(TimeMs at);
  // It is that time now.
  void Advance(Books& books, TimeMs now);

  // The jobs to ask at that time, in no order. What was noted counts as answered from then on.
  // REQUIRES: the hardware is settled.
  Due Take(Books& books, const Policies& policies, TimeMs now);

 private:
  // How room has grown since the last cycle.
  struct Gone {
    bool in_time;  // by expected ends alone, none of them late
    bool early;    // some before their time
  };
  void AdvanceTimeouts(Books& books, TimeMs now);
  Gone HowItWent(const CapacityEvent& grown, TimeMs now);
  static bool AllReserved(const Books& books, const Policies& policies);
  void WokenBy(const Books& books, const Policies& policies, const CapacityEvent& grown, bool shifts,
               Due& due);
  void AddJobsWokenBy(const Books& books, const CapacityEvent& grown,
                      const std::vector<NodeId>& nodes, bool reserves, Due& due);
  void AddLinesWithRoom(const Books& books, const std::vector<NodeId>& nodes,
                        std::vector<LineId>& to);
  bool AnyMay(const Books& books, const JobRow& job, const std::vector<NodeId>& nodes);
  bool WaitsForRoomAlone(const Books& books, const JobRow& job) const;

  std::vector<JobId> due_;
  CapacityEvent capacity_;        // since the last cycle
  std::vector<JobId> evictable_;  // since the last cycle
  std::multimap<TimeMs, JobId> ripening_, held_, delayed_;
  bool times_out_ = false;
  std::vector<TimeMs> expected_ends_;  // of tasks that left room since the last cycle
  TimeMs ask_again_at_ = 0;            // 0: never
  Reach reach_;
};

}  // namespace tephra
