// TaskTable: the rows of jobs and tasks, and every index that is derived from them. A change of a
// task's phase goes through SetPhase, and all indexes hear of it in one place, Follow.
//
// Part of State; one owner thread.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/event.h"
#include "engine/snapshot.h"
#include "engine/wake_ups.h"
#include "topology/base/status.h"
#include "topology/base/uid_index.h"
#include "topology/base/value_pool.h"

namespace tephra {

class TaskTable {
 public:
  Books& books() { return books_; }
  const Books& books() const { return books_; }
  WakeUps& wake_ups() { return wake_ups_; }
  const WakeUps& wake_ups() const { return wake_ups_; }
  TimeMs cycle_time() const { return cycle_time_; }  // of the last cycle
  void BeginCycle(TimeMs now) { cycle_time_ = now; }

  // --- tasks (task_table.cc) ---

  // The row of the task that the fact is about; NOT_FOUND names the job, role or index. `job`: of
  // that name; invalid: not known.
  absl::StatusOr<TaskId> Find(const TaskFact& fact, JobId job);
  // Invalid: no row has a pod with this uid.
  TaskId FindPod(const std::string& uid) const;
  // The row's pod is the one with this uid from now on.
  void SetPod(TaskId id, const std::string& uid);
  void RemovePod(TaskId id);
  // Whether a task in this phase counts towards the minimums of its job.
  static bool CountsToMinimum(TaskPhase phase) {
    return phase == TaskPhase::kAssumed || phase == TaskPhase::kRunning ||
           phase == TaskPhase::kSucceeded;
  }
  // What becomes of a task that loses its place.
  TaskPhase Unplaced(const TaskRow& task) const;
  // `node` and `slices` mean nothing in phases that hold no room.
  void SetPhase(TaskId id, TaskPhase phase, NodeId node, Slices slices);
  void Unplace(TaskId id) { SetPhase(id, Unplaced(books_.tasks[id.index()]), NodeId(), {}); }
  // The text, which rows share that have the same.
  Boxed<std::string> Text(const std::string& text) { return texts_.Of(text); }
  // The class of the template, with a reference, ready to be charged.
  ClassId AcquireClass(const PodTemplate& pod);
  QueueId QueueOf(const TaskRow& task) const;
  Holder HolderOf(const TaskRow& task) const;
  // Takes the task's room on its node, or gives it back. REQUIRES: the node is present.
  void Charge(const TaskRow& task, int sign);
  // What the task's queue holds by it. REQUIRES: it is charged.
  Resources HeldBy(const TaskRow& task);
  // Takes the node's tasks off it, applies the change, and puts them back: so charge and undo see
  // the same devices and domains whatever changes between them.
  template <class Change>
  void Recharge(NodeId node, Change change);

  // --- jobs (job_rows.cc) ---

  // The job's counters, of its role and queue, count the task or no longer do.
  void Count(const TaskRow& task, int sign);
  void CountDemand(QueueId queue, ClassId cls, int sign);
  // Whether the task counts as demand: it is pending, without reserved room.
  static bool Demands(const TaskRow& task) {
    return task.job.valid() && task.phase == TaskPhase::kPending && !task.reserved_row.valid();
  }
  void CountPriority(QueueId queue, std::int32_t priority, int sign);
  // Whether the job is preemptible from now on, and how many more of its tasks are not by themselves.
  void SetPreemptible(JobId id, bool preemptible, std::int32_t more_protected = 0);
  // Until when the eviction delay of its queue keeps the job from evicting.
  void FollowDelay(JobId id);
  // Makes the role `replicas` tasks long.
  void ReshapeRole(JobId job, std::uint32_t role, std::int32_t replicas, ClassId cls);
  // The job's pods came to be, or are no longer expected.
  void FollowPods(JobId job, bool pods_came);
  void RefreshWaiting(JobId id);
  // Since when the job is below its minimum, and what follows from that.
  void FollowMinimum(JobId id);
  // Books::incomplete, after another configuration.
  void ListIncomplete();
  void MarkDue(JobId id) { wake_ups_.MarkDue(books_.jobs[id.index()], id); }

  // --- reserved room (task_reservations.cc) ---

  // Keeps the room for the task, so that no job takes it until the task starts there.
  // REQUIRES: the kind keeps room, and the job has no reservation of another kind that does.
  void Reserve(const Placement& room, Reservation::Kind kind);
  // The job gets a reserved start, in place of what was reserved for it.
  void ReserveStart(JobId id, Reservation start);
  // The start that is reserved for the job is the earliest as of now.
  void ConfirmStart(JobId id);
  // Nothing is reserved for the job any more.
  void DropReservation(JobId id);
  // The job has all it needs: it waits for no victims.
  void DropSatisfied(JobId id);
  // Room of tasks that did not return in time is kept no longer.
  void ExpireReservations(TimeMs now);
  // The grace period of the task, which terminates, ends then; 0: not known. The phase is set next.
  void SetTermination(TaskId id, TimeMs by);
  // Which tasks are stuck, after another configuration.
  void FollowTerminations();
  // Tasks that terminate for too long are stuck from now on, so no job waits for their room.
  void ExpireTerminations(TimeMs now);
  // The next time at which a delay or a timeout passes; 0: none does.
  TimeMs NextPassed() const;
  // What an earlier engine reserved for tasks of the job, in place of what was known of that. Each stands until its task
  // is pending, or the job has what it needs.
  void Expect(JobId id, const std::vector<RecordedReservation>& held);
  // Reserves what is expected for the tasks of the job, or for the task, that are pending.
  void TakeOverReservations(JobId id);
  void TakeOverReservation(TaskId id);

  // --- slices (task_slices.cc) ---

  // The lowest free devices that a task of the class may hold on the node.
  Slices GuessSlices(ClassId cls, NodeId node) const;
  void GuessMissingSlices(NodeId node);

  // --- run times (task_estimates.cc) ---

  RunSubject SubjectOf(const JobRow& job) const;
  // Estimates the run time of the job, from what its owner stated and from earlier jobs.
  void EstimateRun(JobRow& job) const;
  // What the start of the job depends on.
  PendingWork WorkOf(const JobRow& job) const;
  // The job may be pending now, or no longer.
  void FollowStart(JobId id);
  // The job goes before it starts.
  void ForgetStart(JobId id);
  // A task succeeded. The first task of each job stands for the job.
  void NoteRun(const TaskRow& task);
  // When the task ends may have changed; when all tasks of the job do, as its estimate changed.
  void FollowTimeline(TaskId id);
  void FollowTimeline(const JobRow& job);
  // Time has passed.
  void FollowTimeline(TimeMs now);

  // Empty if all columns and indexes equal those recomputed from the rows; else what differs.
  std::string Check() const;  // task_checks.cc

 private:
  // Of all tasks of a job, in thousandths.
  struct JobSize {
    std::int64_t gpus = 0, cpus = 0;
  };
  JobSize SizeOf(const JobRow& job) const;
  struct PhaseChange {
    TaskId task;
    TaskPhase from, to;
  };
  // A task that succeeded since the last cycle.
  struct Run {
    RunSubject job;
    TimeMs started;
  };

  void Follow(const PhaseChange& change);
  TaskId NewTask();
  void DropTask(TaskId id);
  void ChangeClass(TaskRow& task, ClassId cls);
  void Seat(TaskId id);
  void Unseat(TaskId id);
  void ListReleasing(TaskId id, bool on);
  void FollowTermination(const PhaseChange& change);
  bool Overdue(TimeMs terminates_by, TimeMs now) const;
  void ListPlaced(JobId id);
  void DropRoom(TaskId id);
  void FollowReservation(const PhaseChange& change);
  TimeMs ExpectedEndOf(const TaskRow& task) const;
  TimeMs DelayedUntil(const JobRow& job) const;
  std::string CheckPlaced() const;
  std::string CheckReservations() const;
  std::string CheckTimeline() const;
  std::string CheckStarts() const;
  std::string CheckJobs() const;

  Books books_;
  WakeUps wake_ups_;
  TimeMs cycle_time_ = 0;
  UidIndex<TaskRow, TaskId> tasks_by_uid_;
  ValuePool<std::string, TextHash> texts_;
  std::vector<TaskId> unused_tasks_;
  std::vector<Run> ended_;
  std::set<std::pair<TimeMs, TaskId>> terminations_;  // when grace periods of tasks end that are not stuck
  std::deque<std::pair<TimeMs, TaskId>> awaited_;  // since when tasks that move are gone
  // By role and index of the task.
  using Expected = std::map<std::pair<std::string, std::int32_t>, RecordedReservation>;
  std::map<JobId, Expected> expected_;
};

template <class Change>
void TaskTable::Recharge(NodeId node, Change change) {
  if (books_.tasks_on.size() <= node.index()) books_.tasks_on.resize(node.index() + 1);
  books_.occupancy.Grow(books_.facts());
  const bool was_present = books_.hardware.present(node);
  for (TaskId id : books_.tasks_on[node.index()]) {
    if (was_present) Charge(books_.tasks[id.index()], -1);
  }
  books_.occupancy.ClearDevices(books_.hardware, node);
  change();
  books_.occupancy.ResetNode(books_.facts(), node);
  if (books_.hardware.present(node)) {
    for (TaskId id : books_.tasks_on[node.index()]) Charge(books_.tasks[id.index()], +1);
  }
}

}  // namespace tephra
