// Facts about jobs and their pods.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/fact_checks.h"
#include "engine/state.h"

namespace tephra {

JobId State::NewJob(const std::string& uid) {
  JobId id(rows().jobs.size());
  if (unused_jobs_.empty()) {
    rows().jobs.emplace_back();
  } else {
    id = unused_jobs_.back();
    unused_jobs_.pop_back();
  }
  rows().jobs[id.index()].uid = uid;
  rows().jobs[id.index()].live = true;
  jobs_by_uid_.Insert(rows().jobs, id);
  return id;
}

// Whether a new job may have its turn before an older one of its queue, which may then leave more of a limit, or less,
// for the jobs behind it.
bool State::MayGoAhead(const JobRow& job) const {
  if (books().config.job_order != JobOrder::kCreated) return true;
  const auto& of_queue = books().queue_priorities[job.queue.index()];
  return of_queue.begin()->first < job.priority;
}

absl::Status State::On(const JobUpserted& fact) {
  const JobSpec& spec = fact.job;
  TEPHRA_RETURN_IF_ERROR(ValidateJob(spec));
  for (const RoleSpec& role : spec.gang.roles) {
    TEPHRA_RETURN_IF_ERROR(CheckNamed(rows().kinds, "job", spec.name, KindsOf(role.pod)));
  }
  for (const RecordedReservation& held : spec.held) {
    const std::string where = "job \"" + spec.name + "\": held";
    if (held.node.empty()) return absl::InvalidArgumentError(where + ": node: empty");
    TEPHRA_RETURN_IF_ERROR(ValidateSlices(where, held.slices));
  }
  JobId id = FindJob(spec.uid);
  const bool fresh = !id.valid();
  if (fresh) {
    id = NewJob(spec.uid);
  } else if (fact.version <= rows().jobs[id.index()].version) {
    return absl::OkStatus();
  }
  JobRow& job = rows().jobs[id.index()];
  const auto asks = [&job] {
    std::vector<std::pair<ClassId, std::size_t>> roles;
    for (const RoleRow& role : job.roles) roles.emplace_back(role.cls, role.tasks.size());
    std::vector<GroupSpec> groups;
    for (const GroupRow& group : job.groups) groups.push_back(group.spec);
    return std::make_tuple(job.queue, job.priority, job.min_member, job.preemptible, job.min_run_ms,
                           job.checkpoint_interval_ms, job.estimated_runtime_ms, job.evicts,
                           job.movable, job.restarts_by_task, job.locality, std::move(roles), std::move(groups));
  };
  const auto asked = fresh ? decltype(asks()){} : asks();
  const bool broken = job.broken;  // half reshaped it may seem whole
  const RunSubject ran_as = fresh ? RunSubject{} : table_.SubjectOf(job);

  const QueueId queue = rows().queues.Reserve(spec.queue);
  rows().occupancy.Grow(rows().facts());
  const QueueId was = job.queue;
  if (!fresh && (queue != was || spec.user != *job.user)) {
    // What it holds moves to the other queue or user.
    const auto charge_all = [&](int sign) {
      for (const RoleRow& role : job.roles) {
        for (TaskId task : role.tasks) {
          const TaskRow& row = rows().tasks[task.index()];
          if (HoldsRoom(row.phase) && rows().hardware.present(row.node)) table_.Charge(row, sign);
          if (!row.reserved_row.valid()) continue;
          const TaskRow& room = rows().tasks[row.reserved_row.index()];
          if (rows().hardware.present(room.node)) table_.Charge(room, sign);
        }
      }
    };
    const auto count = [&](int sign) {
      for (const RoleRow& role : job.roles) {
        for (TaskId task : role.tasks) table_.Count(rows().tasks[task.index()], sign);
      }
    };
    charge_all(-1);
    count(-1);
    job.queue = queue;
    job.user = table_.Text(spec.user);
    charge_all(+1);
    count(+1);
    table_.wake_ups().capacity().Anywhere();
  }
  if (!fresh) table_.CountPriority(was, job.priority, -1);
  table_.CountPriority(queue, spec.priority, +1);
  job.name = spec.name;
  job.queue_name = table_.Text(spec.queue);
  job.queue = queue;
  job.user = table_.Text(spec.user);
  job.priority = spec.priority;
  job.created = spec.created;
  job.min_member = spec.gang.min_member;
  job.version = fact.version;
  const bool pods_came = spec.pods_exist && !job.pods_exist;
  job.pods_exist = spec.pods_exist;
  const bool moves_now =
      spec.movable && (!job.movable || (spec.restarts_by_task && !job.restarts_by_task));
  if ((spec.preemptible && !job.preemptible) || moves_now) table_.wake_ups().Evictable(id);
  rows().movable_jobs += static_cast<int>(spec.movable) - static_cast<int>(job.movable);
  job.movable = spec.movable;
  job.restarts_by_task = spec.restarts_by_task;
  table_.SetPreemptible(id, spec.preemptible);
  job.min_run_ms = spec.min_run_ms;
  job.checkpoint_interval_ms = spec.checkpoint_interval_ms;
  job.program = table_.Text(ProgramOf(spec.name, spec.image));
  job.stated_runtime_ms = spec.estimated_runtime_ms;
  job.evicts = spec.evicts;
  job.locality = spec.locality;
  job.evictions = std::max(job.evictions, spec.evictions);
  if (fresh) table_.Expect(id, spec.held);
  job.quarantined = false;

  table_.FollowPods(id, pods_came);  // of places that go now, too
  job.groups.clear();
  for (RoleRow& role : job.roles) role.group = kNoGroup;
  std::map<std::string, std::uint32_t> groups;
  for (const GroupSpec& group : spec.gang.groups) {
    groups[group.name] = static_cast<std::uint32_t>(job.groups.size());
    job.groups.push_back({group, {}, kNoGroup, {}});
  }
  for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
    const auto parent = groups.find(job.groups[g].spec.parent);
    if (parent == groups.end()) continue;
    job.groups[g].parent = parent->second;
    job.groups[parent->second].groups.push_back(g);
  }
  std::set<std::string_view> named;
  for (const RoleSpec& role : spec.gang.roles) named.insert(role.name);
  std::map<std::string, std::uint32_t, std::less<>> indexes;
  // Roles keep their index by name; one that is no longer named shrinks to nothing.
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    indexes.emplace(job.roles[r].name, r);
    if (named.contains(job.roles[r].name)) continue;
    job.roles[r].min = 0;
    table_.ReshapeRole(id, r, 0, job.roles[r].cls);
  }
  for (const RoleSpec& role : spec.gang.roles) {
    const std::uint32_t r =
        indexes.emplace(role.name, static_cast<std::uint32_t>(job.roles.size())).first->second;
    if (r == job.roles.size()) job.roles.emplace_back().name = role.name;
    const ClassId cls = table_.AcquireClass(role.pod);
    rows().occupancy.Grow(rows().facts());
    const ClassId old = job.roles[r].cls;
    job.roles[r].min = role.min;
    if (const auto group = groups.find(role.group); group != groups.end()) {
      job.roles[r].group = group->second;
      job.groups[group->second].roles.push_back(r);
    }
    table_.ReshapeRole(id, r, role.replicas, cls);
    job.roles[r].cls = cls;  // takes over the reference of Acquire
    if (old.valid()) rows().classes.Release(old);
  }
  table_.TakeOverReservations(id);
  if (fresh || job.estimated_runtime_ms == 0 || table_.SubjectOf(job) != ran_as) {
    table_.EstimateRun(job);
    table_.FollowTimeline(job);
  }
  job.broken = broken && !job.satisfied();
  if (job.satisfied()) table_.DropSatisfied(id);
  if (fresh || asks() != asked) {
    ++rows().news;
    if (!job.keeps_room()) job.reservation = Reservation{};
  }
  rows().inqueue.Touch(id);
  table_.MarkDue(id);
  rows().starts.Change(id, table_.WorkOf(job));
  table_.RefreshWaiting(id);  // its place in the line, too
  const bool turns = rows().queues.limited(job.queue) && (fresh ? MayGoAhead(job) : asks() != asked);
  if (turns || rows().queues.InOrder(job.queue)) table_.wake_ups().capacity().In(job.queue);
  return absl::OkStatus();
}

absl::Status State::On(const JobRemoved& fact) {
  const JobId id = FindJob(fact.uid);
  if (!id.valid()) return absl::OkStatus();
  ++rows().news;
  table_.ForgetStart(id);
  table_.Expect(id, {});
  // What it asked for makes other shares larger.
  if (rows().queues.InOrder(rows().jobs[id.index()].queue) || rows().jobs[id.index()].waits()) {
    table_.wake_ups().capacity().In(rows().jobs[id.index()].queue);
  }
  for (std::uint32_t r = 0; r < rows().jobs[id.index()].roles.size(); ++r) {
    table_.ReshapeRole(id, r, 0, rows().jobs[id.index()].roles[r].cls);
    rows().classes.Release(rows().jobs[id.index()].roles[r].cls);
  }
  table_.RefreshWaiting(id);
  table_.CountPriority(rows().jobs[id.index()].queue, rows().jobs[id.index()].priority, -1);
  rows().movable_jobs -= static_cast<int>(rows().jobs[id.index()].movable);
  table_.wake_ups().Forget(rows().jobs[id.index()], id);
  // The id is given to another job, which evicted none of these.
  for (const TaskId task : rows().releasing) {
    TaskRow& row = rows().tasks[task.index()];
    if (row.evicted_for == id) row.evicted_for = JobId();
  }
  rows().incomplete.erase(id);
  jobs_by_uid_.Erase(rows().jobs, fact.uid);
  rows().jobs[id.index()] = JobRow{};
  rows().lines.Follow(rows(), id);
  rows().inqueue.Touch(id);
  unused_jobs_.push_back(id);
  return absl::OkStatus();
}

absl::Status State::On(const TaskUpserted& fact) {
  const TaskFact& said = fact.task;
  if (said.uid.empty()) return absl::InvalidArgumentError("task: uid: empty");
  const std::string where = "task \"" + said.uid + "\"";
  if (said.phase == TaskPhase::kAssumed || said.phase == TaskPhase::kAbsent ||
      said.phase == TaskPhase::kReserved) {
    return absl::InvalidArgumentError(where + ": phase: " +
                                      (said.phase == TaskPhase::kAssumed  ? "assumed"
                                       : said.phase == TaskPhase::kAbsent ? "absent"
                                                                          : "reserved") +
                                      " is not a fact");
  }
  if (HoldsRoom(said.phase) && said.node.empty()) {
    return absl::InvalidArgumentError(where + ": node: empty, expected the node it is bound to");
  }
  if (said.job.empty() && !said.pod.has_value()) {
    return absl::InvalidArgumentError(where + ": pod: absent, expected for a pod without a job");
  }
  if (said.pod.has_value()) {
    TEPHRA_RETURN_IF_ERROR(ValidatePod(where, *said.pod));
    TEPHRA_RETURN_IF_ERROR(CheckNamed(rows().kinds, "task", said.uid, KindsOf(*said.pod)));
  }
  TEPHRA_RETURN_IF_ERROR(ValidateSlices(where, said.slices));
  TEPHRA_ASSIGN_OR_RETURN(const TaskId id, table_.Find(said, FindJob(said.job)));
  TaskRow& task = rows().tasks[id.index()];
  const bool same_pod = task.uid == said.uid;
  if (same_pod && fact.version <= task.version) return absl::OkStatus();
  if (!same_pod) {
    // Known in another place: it left there. Another pod known in this one: it is gone.
    const TaskId known = table_.FindPod(said.uid);
    if (known.valid()) table_.RemovePod(known);
    if (!task.uid.empty()) table_.RemovePod(id);
    table_.SetPod(id, said.uid);
  }
  task.version = fact.version;
  task.disruption_budgets = said.disruption_budgets;
  if (said.pod.has_value() && !task.job.valid() && *said.pod != rows().classes[task.cls].pod) {
    // Resized in place: what it held goes before it is charged again.
    table_.SetPhase(id, TaskPhase::kFailed, NodeId(), {});
    const ClassId cls = table_.AcquireClass(*said.pod);
    rows().classes.Release(task.cls);
    task.cls = cls;
  }
  // A pending pod whose binding is under way is still assumed, and one that is being evicted runs
  // until it goes.
  if (said.phase == TaskPhase::kPending && task.phase == TaskPhase::kAssumed) {
    return absl::OkStatus();
  }
  if (said.phase == TaskPhase::kRunning && task.evicting) return absl::OkStatus();
  NodeId node;
  Slices slices;
  if (HoldsRoom(said.phase)) {
    node = rows().hardware.Reserve(said.node);
    if (rows().tasks_on.size() <= node.index()) rows().tasks_on.resize(node.index() + 1);
    rows().occupancy.Grow(rows().facts());
    slices = said.slices;
    if (slices.empty() && rows().classes[task.cls].needs_devices()) {
      // Until a fact says otherwise it keeps the slices that were assumed or guessed for it here.
      slices = HoldsRoom(task.phase) && task.node == node ? task.slices
                                                          : table_.GuessSlices(task.cls, node);
    }
  }
  const bool ends = said.phase == TaskPhase::kSucceeded || said.phase == TaskPhase::kFailed;
  if (!task.job.valid() || (ends && !task.evicted)) ++rows().news;
  const JobId job = task.job;
  const bool starts = said.phase == TaskPhase::kRunning && task.phase != TaskPhase::kRunning;
  if (said.phase == TaskPhase::kSucceeded && task.phase == TaskPhase::kRunning)
    table_.NoteRun(task);
  if (starts) task.started = table_.cycle_time();
  if (said.started > 0) task.started = said.started;
  if (said.checkpointed > 0) task.checkpointed = said.checkpointed;
  if (said.preemptible && !task.preemptible && job.valid()) {
    table_.wake_ups().Evictable(job);
    ++rows().news;
  }
  if (job.valid() && said.preemptible != task.preemptible) {
    table_.SetPreemptible(job, rows().jobs[job.index()].preemptible, said.preemptible ? -1 : +1);
  }
  task.preemptible = said.preemptible;
  task.priority = said.priority;
  const bool waited = job.valid() && !rows().jobs[job.index()].satisfied();
  table_.SetTermination(id, said.terminates_by);
  table_.SetPhase(id, said.phase, node, std::move(slices));
  table_.TakeOverReservation(id);
  if (starts && job.valid()) {
    const DurationMs min_run = rows().jobs[job.index()].min_run_ms;
    if (min_run > 0) {
      table_.wake_ups().EvictableAt(task.started + min_run, job);
    } else {
      table_.wake_ups().Evictable(job);
    }
  }
  if (waited && rows().jobs[job.index()].satisfied() &&
      rows().queues.InOrder(rows().jobs[job.index()].queue)) {
    table_.wake_ups().capacity().In(
        rows().jobs[job.index()].queue);  // the job behind it may be next
  }
  return absl::OkStatus();
}

absl::Status State::On(const TaskRemoved& fact) {
  const TaskId pod = table_.FindPod(fact.uid);
  if (pod.valid()) table_.RemovePod(pod);
  return absl::OkStatus();
}

}  // namespace tephra
