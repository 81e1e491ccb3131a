// State: the truth, folded from Events. Everything in it could be rebuilt by applying the same
// facts again, in any order that keeps each object's own.
//
// One owner thread. Nothing may be applied while a Snapshot lives.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/framework/event.h"
#include "plugins/framework/growth.h"
#include "plugins/framework/plan.h"
#include "plugins/framework/reach.h"
#include "plugins/framework/snapshot.h"
#include "topology/base/status.h"

namespace tephra {

class State {
 public:
  // Folds one fact in, whole or not at all. INVALID_ARGUMENT (or NOT_FOUND for a task whose job or
  // role is unknown) says which object, field and value; the State is then unchanged.
  absl::Status Apply(const Event& event);

  // Takes a plan's placements as done until facts confirm or deny them, and remembers verdicts.
  void Assume(const Plan& plan);
  // Takes back assumptions older than the configured time.
  void Expire(TimeMs now);

  // Something may have a new answer: a job is due, or room has grown since the last cycle.
  bool NeedsCycle() const { return !due_.empty() || growth_.times() > 0 || !evictable_.empty(); }
  // The jobs to ask now, in no order; clears the list. REQUIRES: no Snapshot lives.
  std::vector<JobId> TakeDue();
  // Brings the list of recent pods up to date.
  void SettleRecentPods() { books_.recent_pods.Settle(); }

  // What is to be kept for a later engine; empty while past usage does not count. Largest accounts
  // first where not all of them may be kept.
  Memory Remember() const;
  // Whether the last Expire found that it has changed, and is due; asks once.
  bool TakeMemoryDue() { return std::exchange(memory_due_, false); }

  Snapshot Freeze(TimeMs now);
  const Books& books() const { return books_; }
  JobId FindJob(const std::string& uid) const;

  // Empty if the columns equal those recomputed from the tasks; else what differs.
  std::string CheckBooks() const;

 private:
  absl::Status On(const KindsDeclared&);
  absl::Status On(const NodeUpserted&);
  absl::Status On(const NodeRemoved&);
  absl::Status On(const QueueUpserted&);
  absl::Status On(const QueueRemoved&);
  absl::Status On(const JobUpserted&);
  absl::Status On(const JobRemoved&);
  absl::Status On(const TaskUpserted&);
  absl::Status On(const TaskRemoved&);
  absl::Status On(const PlacementRefused&);
  absl::Status On(const PlanStale&);
  absl::Status On(const BindFailed&);
  absl::Status On(const MaskUpserted&);
  absl::Status On(const MaskRemoved&);
  absl::Status On(const DomainUpserted&);
  absl::Status On(const DomainRemoved&);
  absl::Status On(const DisruptionBudgetUpserted&);
  absl::Status On(const DisruptionBudgetRemoved&);
  absl::Status On(const ConfigChanged&);
  absl::Status On(const MemoryTold&);

  absl::StatusOr<TaskId> FindTask(const TaskFact& fact);
  absl::StatusOr<const RoleRow*> FindRole(const char* of, JobId job, const std::string& role) const;
  bool AssumedOn(const TaskRow& task, const std::string& node) const;
  TaskPhase Unplaced(const TaskRow& task) const;
  void Refuse(ClassId cls, const std::string& node);
  void RefuseForNow(ClassId cls, const std::string& node);
  void ForgiveRefusals(TimeMs now);
  void TakeBack(JobId job, std::uint64_t plan, bool elastic_only);
  void FollowPods(JobId job, bool pods_came);
  TaskId NewTask();
  void DropTask(TaskId id);
  void RemovePod(TaskId id);
  void ChangeClass(TaskRow& task, ClassId cls);
  ClassId AcquireClass(const PodTemplate& pod);
  void SetPhase(TaskId id, TaskPhase phase, NodeId node, Slices slices);
  void Count(const TaskRow& task, int sign);
  void ListPlaced(JobId id);
  std::string CheckPlaced() const;
  void CountDemand(QueueId queue, ClassId cls, int sign);
  void CountPriority(QueueId queue, std::int32_t priority, int sign);
  bool InOrder(const JobRow& job) const;
  void Hold(TaskId id);
  void KeepBerth(const Placement& move);
  void LeaveBerth(TaskId id);
  void LeaveBerths(JobId id);
  void FollowBerth(TaskId id, TaskPhase phase);
  std::string CheckBerths() const;
  void ExpireBerths(TimeMs now);
  void ListReleasing(TaskId id, bool on);
  void LiftHolds(JobId id);
  void Seat(TaskId id);
  void Unseat(TaskId id);
  void ChargeTask(const TaskRow& task, int sign);
  Resources HeldBy(const TaskRow& task);
  void FollowUsage();
  void AdvanceUsage(TimeMs now);
  Slices GuessSlices(ClassId cls, NodeId node) const;
  void GuessMissingSlices(NodeId node);
  template <class Change>
  void Recharge(NodeId node, Change change);
  template <class Change>
  void ChangeNode(NodeId node, Change change);
  void CountModels();
  void ReshapeRole(JobId job, std::uint32_t role, std::int32_t replicas, ClassId cls);
  void RefreshWaiting(JobId id);
  void MarkDue(JobId id);
  void PredictRun(JobRow& job) const;
  void NoteRun(const TaskRow& task);
  TimeMs ExpectedEndOf(const TaskRow& task) const;
  void FollowTimeline(TaskId id);
  void FollowTimeline(const JobRow& job);
  void FollowTimeline(TimeMs now);
  std::string CheckTimeline() const;
  void MarkEvictable(JobId id);
  bool WentAsPromised(const Growth& growth);
  std::vector<JobId> WokenBy(const Growth& growth);
  bool HelpsAnybody(const Growth& growth) const;
  bool WaitsForRoomAlone(const JobRow& job) const;
  std::vector<JobId> WokenBy(const std::vector<JobId>& evictable) const;
  QueueId QueueOf(const TaskRow& task) const;

  Books books_;
  std::unordered_map<std::string, JobId> jobs_by_uid_;
  std::unordered_map<std::string, TaskId> tasks_by_uid_;
  std::unordered_map<std::string, std::uint64_t> node_versions_, queue_versions_, mask_versions_,
      domain_versions_, disruption_budget_versions_;
  std::vector<JobId> unused_jobs_;
  std::vector<TaskId> unused_tasks_;
  std::deque<std::pair<TimeMs, TaskId>> assumptions_;
  std::deque<std::pair<TimeMs, std::uint64_t>> failed_binds_;  // of Books::refused, those for now
  TimeMs cycle_time_ = 0;                                      // of the last cycle
  // Tasks that have ended since the last cycle, one of each job: whose, and since when it ran.
  struct Run {
    QueueId queue;
    std::string user;
    TimeMs started;
  };
  std::vector<Run> ended_;
  std::vector<TimeMs> expected_ends_;              // of those that left room since the last cycle
  std::deque<std::pair<TimeMs, TaskId>> awaited_;  // since when tasks that move are gone
  TimeMs consolidate_at_ = 0;
  std::vector<JobId> due_;
  // Jobs that others may have evicted from now on, since the last cycle; and from a time on.
  std::vector<JobId> evictable_;
  std::multimap<TimeMs, JobId> ripening_;
  std::uint64_t plans_ = 0;  // assumed so far
  Growth growth_;            // since the last cycle
  Reach reach_;
  std::int32_t living_snapshots_ = 0;
  bool memory_due_ = false;
};

}  // namespace tephra
