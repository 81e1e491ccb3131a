// PendingStarts: between which times pending jobs are expected to start. Part of Books: TaskTable
// says which jobs are pending, State when a cycle first found no start for a job.
//
// An interval is predicted once, at the end of the first cycle that left the job pending because of
// room, quotas or other jobs. It is judged when the job starts, or when the interval ends without a
// start. A job that starts in the cycle after it arrives needs no interval and teaches nothing. A job
// that runs and is pending again has a wait of its own, compared with other such waits.
//
// The prediction uses past waits and the work ahead: of the pending jobs of the queue with at least
// the priority of the job. The sums of work follow each change of a job. One owner thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include "engine/start_interval.h"
#include "engine/wait_history.h"
#include "topology/base/ids.h"
#include "topology/base/stable_rows.h"
#include "topology/base/time.h"

namespace tephra {

// A pending job, as far as its wait depends on it.
struct PendingWork {
  QueueId queue;
  std::int32_t priority = 0;
  std::int64_t size = 0;   // of all its tasks, rounded up
  DurationMs run = 0;      // estimate; 0: not known
  bool gpus = false;       // the size is in GPUs, not in cores
  bool again = false;      // it ran before

  bool operator==(const PendingWork&) const = default;
};

class PendingStarts {
 public:
  // The job is pending from now on. REQUIRES: it was not.
  void Enter(JobId job, const PendingWork& work);
  // What is known of the job changed. No effect if it is not pending.
  void Change(JobId job, const PendingWork& work);
  // The job is no longer pending. `started`: it has its minimum. REQUIRES: it was pending.
  void Leave(JobId job, bool started);
  // Time has passed.
  void Advance(TimeMs now);
  // Jobs that became pending since the last call, and some that are not pending any more.
  std::vector<JobId> TakeFresh() { return std::exchange(fresh_, {}); }
  // A cycle left the job pending. The interval if this is the first time, else none.
  std::optional<StartInterval> Found(JobId job);

  // As of the last Advance. After the begin of the interval that was predicted first: of the jobs that
  // waited at least as long.
  StartInterval Of(JobId job) const;

  // Empty if the sums are those of these jobs; else what differs.
  std::string Check(const std::vector<std::pair<JobId, PendingWork>>& pending) const;

 private:
  // There is one for each job that was ever known, so it is small.
  struct Wait {
    PendingWork work;
    bool pending = false;
    bool found = false;       // Found was called
    bool late = false;        // the predicted interval has ended
    WaitSubject subject;      // when Found was called
    TimeMs since = 0;         // then
    StartInterval predicted;  // then
  };
  // The work of pending jobs by priority.
  using Sums = absl::btree_map<std::int32_t, std::int64_t>;

  static std::int64_t WorkOf(const PendingWork& work);
  static std::size_t SlotOf(const PendingWork& work) {
    return 2 * (work.queue.valid() ? work.queue.index() + 1 : 0) + (work.gpus ? 1 : 0);
  }
  // Null: it is not pending.
  const Wait* Find(JobId job) const {
    return job.index() < waits_.size() && waits_[job.index()].pending ? &waits_[job.index()] : nullptr;
  }
  Wait* Find(JobId job) { return const_cast<Wait*>(std::as_const(*this).Find(job)); }
  void Add(const PendingWork& work, int sign);
  std::int64_t AheadOf(const PendingWork& work) const;

  WaitHistory history_;
  TimeMs now_ = 0;
  StableRows<Wait> waits_;  // by JobId
  std::size_t pending_ = 0;
  std::vector<Sums> sums_;  // by SlotOf
  std::vector<JobId> fresh_;
  absl::btree_set<std::pair<TimeMs, JobId>> ends_;  // of predicted intervals that have not ended
};

}  // namespace tephra
