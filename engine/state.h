// State: the truth, folded from Events. Everything in it could be rebuilt by applying the same
// facts again, in any order that keeps each object's own.
//
// One owner thread. Nothing may be applied while a Snapshot lives.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/assumptions.h"
#include "engine/event.h"
#include "engine/plan.h"
#include "engine/snapshot.h"
#include "engine/task_table.h"
#include "topology/base/status.h"

namespace tephra {

class State {
 public:
  // Folds one fact in, whole or not at all. INVALID_ARGUMENT (or NOT_FOUND for a task whose job or
  // role is unknown) says which object, field and value; the State is then unchanged.
  absl::Status Apply(const Event& event);

  // Takes a plan's placements as done until facts confirm or deny them, and remembers verdicts.
  // Jobs that it leaves pending for the first time get a start interval.
  void Assume(const Plan& plan);
  // Gives up assumptions older than the configured time.
  void Expire(TimeMs now);

  // Jobs go by this order until the configuration changes.
  void Use(std::shared_ptr<const Order> order) { rows().lines.Use(rows(), std::move(order)); }

  // Something may have a new answer: a job is due, or room has grown since the last cycle.
  bool NeedsCycle() const { return table_.wake_ups().any(); }
  // A job has run with less than its minimum for too long.
  bool TimesOut() const { return table_.wake_ups().times_out(); }
  // The next time at which a delay or a timeout passes, and a cycle is due; 0: none does.
  TimeMs NextPassed() const { return table_.NextPassed(); }
  // Brings indexes up to date that policies may be made from.
  void Settle();
  // What to ask now, in no order; clears the list. REQUIRES: no Snapshot lives, and Settle.
  Due TakeDue(const Policies& policies);

  // What is to be kept for a later engine; empty while past usage does not count. Largest accounts
  // first where not all of them may be kept.
  Memory Remember() const;
  // Whether the last Expire found that it has changed, and is due; asks once.
  bool TakeMemoryDue() { return std::exchange(memory_due_, false); }

  Snapshot Freeze(TimeMs now);
  const Books& books() const { return table_.books(); }
  JobId FindJob(const std::string& uid) const;

  // Empty if the columns equal those recomputed from the tasks; else what differs.
  std::string CheckBooks() const { return table_.Check(); }

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
  absl::Status On(const MemoryRestored&);

  absl::StatusOr<const RoleRow*> FindRole(const char* of, JobId job, const std::string& role) const;
  JobId NewJob(const std::string& uid);
  bool MayGoAhead(const JobRow& job) const;
  void FollowUsage();
  void FollowDelays();
  void AdvanceUsage(TimeMs now);
  template <class Change>
  void ChangeNode(NodeId node, Change change);
  void CountModels();
  Books& rows() { return table_.books(); }

  TaskTable table_;
  Assumptions assumptions_;
  UidIndex<JobRow, JobId> jobs_by_uid_;
  std::unordered_map<std::string, std::uint64_t> node_versions_, queue_versions_, mask_versions_,
      domain_versions_, disruption_budget_versions_;
  std::vector<JobId> unused_jobs_;
  std::int32_t living_snapshots_ = 0;
  bool memory_due_ = false;
};

}  // namespace tephra
