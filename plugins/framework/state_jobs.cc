// Facts about jobs and their pods.
#include <algorithm>
#include <tuple>
#include <utility>

#include "plugins/framework/fact_checks.h"
#include "plugins/framework/state.h"

namespace tephra {

absl::Status State::On(const JobUpserted& fact) {
  const JobSpec& spec = fact.job;
  TEPHRA_RETURN_IF_ERROR(ValidateJob(spec));
  for (const RoleSpec& role : spec.gang.roles) {
    TEPHRA_RETURN_IF_ERROR(CheckNamed(books_.kinds, "job", spec.name, KindsOf(role.pod)));
  }
  for (const HeldRoom& held : spec.held) {
    const std::string where = "job \"" + spec.name + "\": held";
    if (held.node.empty()) return absl::InvalidArgumentError(where + ": node: empty");
    TEPHRA_RETURN_IF_ERROR(ValidateSlices(where, held.slices));
  }
  const auto [it, fresh] = jobs_by_uid_.try_emplace(spec.uid);
  if (fresh) {
    if (unused_jobs_.empty()) {
      it->second = JobId(books_.jobs.size());
      books_.jobs.emplace_back();
    } else {
      it->second = unused_jobs_.back();
      unused_jobs_.pop_back();
    }
    books_.jobs[it->second.index()] = JobRow{};
    books_.jobs[it->second.index()].live = true;
  } else if (fact.version <= books_.jobs[it->second.index()].version) {
    return absl::OkStatus();
  }
  const JobId id = it->second;
  JobRow& job = books_.jobs[id.index()];
  const auto asks = [&job] {
    std::vector<std::pair<ClassId, std::size_t>> roles;
    for (const RoleRow& role : job.roles) roles.emplace_back(role.cls, role.tasks.size());
    std::vector<GroupSpec> groups;
    for (const GroupRow& group : job.groups) groups.push_back(group.spec);
    return std::make_tuple(job.queue, job.priority, job.min_member, job.preemptible, job.min_run_ms,
                           job.expected_run_ms, job.evicts, job.movable, job.locality,
                           std::move(roles), std::move(groups));
  };
  const auto asked = asks();
  const bool broken = job.broken;  // half reshaped it may seem whole

  const QueueId queue = books_.queues.Reserve(spec.queue);
  books_.occupancy.Grow(books_.facts());
  const QueueId was = job.queue;
  if (!fresh && (queue != was || spec.user != job.user)) {
    // What it holds moves to the other queue or user.
    const auto charge_all = [&](int sign) {
      for (const RoleRow& role : job.roles) {
        for (TaskId task : role.tasks) {
          const TaskRow& row = books_.tasks[task.index()];
          if (HoldsRoom(row.phase) && books_.hardware.present(row.node)) ChargeTask(row, sign);
          if (!row.berth.valid()) continue;
          const TaskRow& berth = books_.tasks[row.berth.index()];
          if (books_.hardware.present(berth.node)) ChargeTask(berth, sign);
        }
      }
    };
    const auto count = [&](int sign) {
      for (const RoleRow& role : job.roles) {
        for (TaskId task : role.tasks) Count(books_.tasks[task.index()], sign);
      }
    };
    charge_all(-1);
    count(-1);
    job.queue = queue;
    job.user = spec.user;
    charge_all(+1);
    count(+1);
    growth_.Anywhere();
  }
  if (!fresh) CountPriority(was, job.priority, -1);
  CountPriority(queue, spec.priority, +1);
  job.uid = spec.uid;
  job.name = spec.name;
  job.queue_name = spec.queue;
  job.queue = queue;
  job.user = spec.user;
  job.priority = spec.priority;
  job.created = spec.created;
  job.min_member = spec.gang.min_member;
  job.version = fact.version;
  const bool pods_came = spec.pods_exist && !job.pods_exist;
  job.pods_exist = spec.pods_exist;
  const bool moves_now = spec.movable && !job.movable;
  if ((spec.preemptible && !job.preemptible) || moves_now) MarkEvictable(id);
  books_.movable_jobs += static_cast<int>(spec.movable) - static_cast<int>(job.movable);
  job.movable = spec.movable;
  job.preemptible = spec.preemptible;
  job.min_run_ms = spec.min_run_ms;
  const DurationMs ran_for = job.expected_run_ms;
  job.expected_run_ms = spec.expected_run_ms;
  if (job.expected_run_ms == 0) PredictRun(job);
  job.evicts = spec.evicts;
  job.locality = spec.locality;
  job.evictions = std::max(job.evictions, spec.evictions);
  if (fresh) job.to_hold = spec.held;
  job.quarantined = false;

  FollowPods(id, pods_came);  // of places that go now, too
  job.groups.clear();
  for (RoleRow& role : job.roles) role.group = kNoGroup;
  std::map<std::string, std::uint32_t> groups;
  for (const GroupSpec& group : spec.gang.groups) {
    groups[group.name] = static_cast<std::uint32_t>(job.groups.size());
    job.groups.push_back({group, {}});
  }
  // Roles keep their index by name; one that is no longer named shrinks to nothing.
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const bool named =
        std::any_of(spec.gang.roles.begin(), spec.gang.roles.end(),
                    [&](const RoleSpec& role) { return role.name == job.roles[r].name; });
    if (!named) {
      job.roles[r].min = 0;
      ReshapeRole(id, r, 0, job.roles[r].cls);
    }
  }
  for (const RoleSpec& role : spec.gang.roles) {
    std::uint32_t r = 0;
    while (r < job.roles.size() && job.roles[r].name != role.name) ++r;
    if (r == job.roles.size()) job.roles.emplace_back().name = role.name;
    const ClassId cls = AcquireClass(role.pod);
    books_.occupancy.Grow(books_.facts());
    const ClassId old = job.roles[r].cls;
    job.roles[r].min = role.min;
    if (const auto group = groups.find(role.group); group != groups.end()) {
      job.roles[r].group = group->second;
      job.groups[group->second].roles.push_back(r);
    }
    ReshapeRole(id, r, role.replicas, cls);
    job.roles[r].cls = cls;  // takes over the reference of Acquire
    if (old.valid()) books_.classes.Release(old);
  }
  if (!job.to_hold.empty()) {
    for (const RoleRow& role : job.roles) {
      for (TaskId task : role.tasks) Hold(task);
    }
  }
  if (job.expected_run_ms != ran_for) FollowTimeline(job);
  job.broken = broken && !job.satisfied();
  if (job.satisfied()) LiftHolds(id);
  if (asks() != asked) {
    ++books_.news;
    job.promise = {};
  }
  books_.inqueue.Touch(id);
  MarkDue(id);
  RefreshWaiting(id);  // its place in the line, too
  if (InOrder(job)) growth_.In(job.queue);
  return absl::OkStatus();
}

void State::CountPriority(QueueId queue, std::int32_t priority, int sign) {
  auto& queues = books_.queue_priorities;
  if (queues.size() <= queue.index()) queues.resize(queue.index() + 1);
  std::map<std::int32_t, std::int32_t>& jobs = queues[queue.index()];
  const auto it = jobs.try_emplace(priority).first;
  it->second += sign;
  if (it->second == 0) jobs.erase(it);
}

// Others of its queue may wait behind it.
bool State::InOrder(const JobRow& job) const {
  return books_.queues.present(job.queue) &&
         books_.queues.spec(job.queue).dequeue == Dequeue::kFifo;
}

absl::Status State::On(const JobRemoved& fact) {
  const auto it = jobs_by_uid_.find(fact.uid);
  if (it == jobs_by_uid_.end()) return absl::OkStatus();
  const JobId id = it->second;
  ++books_.news;
  // What it asked for makes the shares of others larger.
  if (InOrder(books_.jobs[id.index()]) || books_.jobs[id.index()].waits()) {
    growth_.In(books_.jobs[id.index()].queue);
  }
  for (std::uint32_t r = 0; r < books_.jobs[id.index()].roles.size(); ++r) {
    ReshapeRole(id, r, 0, books_.jobs[id.index()].roles[r].cls);
    books_.classes.Release(books_.jobs[id.index()].roles[r].cls);
  }
  RefreshWaiting(id);
  CountPriority(books_.jobs[id.index()].queue, books_.jobs[id.index()].priority, -1);
  books_.movable_jobs -= static_cast<int>(books_.jobs[id.index()].movable);
  if (books_.jobs[id.index()].due) std::erase(due_, id);
  books_.jobs[id.index()] = JobRow{};
  books_.lines.Follow(books_, id);
  books_.inqueue.Touch(id);
  unused_jobs_.push_back(id);
  jobs_by_uid_.erase(it);
  return absl::OkStatus();
}

absl::Status State::On(const TaskUpserted& fact) {
  const TaskFact& said = fact.task;
  if (said.uid.empty()) return absl::InvalidArgumentError("task: uid: empty");
  const std::string where = "task \"" + said.uid + "\"";
  if (said.phase == TaskPhase::kAssumed || said.phase == TaskPhase::kAbsent ||
      said.phase == TaskPhase::kHeld || said.phase == TaskPhase::kBerth) {
    return absl::InvalidArgumentError(where + ": phase: " +
                                      (said.phase == TaskPhase::kAssumed  ? "assumed"
                                       : said.phase == TaskPhase::kAbsent ? "absent"
                                       : said.phase == TaskPhase::kHeld   ? "held"
                                                                          : "berth") +
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
    TEPHRA_RETURN_IF_ERROR(CheckNamed(books_.kinds, "task", said.uid, KindsOf(*said.pod)));
  }
  TEPHRA_RETURN_IF_ERROR(ValidateSlices(where, said.slices));
  TEPHRA_ASSIGN_OR_RETURN(const TaskId id, FindTask(said));
  TaskRow& task = books_.tasks[id.index()];
  const bool same_pod = task.uid == said.uid;
  if (same_pod && fact.version <= task.version) return absl::OkStatus();
  if (!same_pod) {
    // Known in another place: it left there. Another pod known in this one: it is gone.
    const auto known = tasks_by_uid_.find(said.uid);
    if (known != tasks_by_uid_.end()) RemovePod(known->second);
    if (!task.uid.empty()) RemovePod(id);
    task.uid = said.uid;
    tasks_by_uid_[said.uid] = id;
  }
  task.version = fact.version;
  task.disruption_budgets = said.disruption_budgets;
  if (said.pod.has_value() && !task.job.valid() && *said.pod != books_.classes[task.cls].pod) {
    // Resized in place: what it held goes before it is charged anew.
    SetPhase(id, TaskPhase::kFailed, NodeId(), {});
    const ClassId cls = AcquireClass(*said.pod);
    books_.classes.Release(task.cls);
    task.cls = cls;
  }
  // A pending pod whose binding is under way is still assumed, one for which room is set aside
  // keeps it, and one that is being evicted runs until it goes.
  if (said.phase == TaskPhase::kPending &&
      (task.phase == TaskPhase::kAssumed || task.phase == TaskPhase::kHeld)) {
    return absl::OkStatus();
  }
  if (said.phase == TaskPhase::kRunning && task.evicting) return absl::OkStatus();
  NodeId node;
  Slices slices;
  if (HoldsRoom(said.phase)) {
    node = books_.hardware.Reserve(said.node);
    if (books_.tasks_on.size() <= node.index()) books_.tasks_on.resize(node.index() + 1);
    books_.occupancy.Grow(books_.facts());
    slices = said.slices;
    if (slices.empty() && books_.classes[task.cls].needs_devices()) {
      // Until told otherwise it keeps the slices that were assumed or guessed for it here.
      slices =
          HoldsRoom(task.phase) && task.node == node ? task.slices : GuessSlices(task.cls, node);
    }
  }
  const bool ends = said.phase == TaskPhase::kSucceeded || said.phase == TaskPhase::kFailed;
  if (!task.job.valid() || (ends && !task.evicted_for.valid())) ++books_.news;
  const JobId job = task.job;
  const bool starts = said.phase == TaskPhase::kRunning && task.phase != TaskPhase::kRunning;
  if (said.phase == TaskPhase::kSucceeded && task.phase == TaskPhase::kRunning) NoteRun(task);
  if (starts) task.started = cycle_time_;
  if (said.started > 0) task.started = said.started;
  if (said.checkpointed > 0) task.checkpointed = said.checkpointed;
  if (said.preemptible && !task.preemptible && job.valid()) {
    MarkEvictable(job);
    ++books_.news;
  }
  task.preemptible = said.preemptible;
  task.priority = said.priority;
  const bool waited = job.valid() && !books_.jobs[job.index()].satisfied();
  SetPhase(id, said.phase, node, std::move(slices));
  Hold(id);
  if (starts && job.valid()) {
    const DurationMs min_run = books_.jobs[job.index()].min_run_ms;
    if (min_run > 0) {
      ripening_.emplace(task.started + min_run, job);
    } else {
      MarkEvictable(job);
    }
  }
  if (waited && books_.jobs[job.index()].satisfied() && InOrder(books_.jobs[job.index()])) {
    growth_.In(books_.jobs[job.index()].queue);  // who waited behind it may be next
  }
  return absl::OkStatus();
}

absl::Status State::On(const TaskRemoved& fact) {
  const auto it = tasks_by_uid_.find(fact.uid);
  if (it != tasks_by_uid_.end()) RemovePod(it->second);
  return absl::OkStatus();
}

void State::RemovePod(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  if (HoldsRoom(task.phase) && !task.evicted_for.valid()) ++books_.news;
  tasks_by_uid_.erase(task.uid);
  task.uid.clear();
  task.version = 0;
  task.disruption_budgets.clear();
  task.started = task.checkpointed = 0;
  task.preemptible = true;
  task.priority.reset();
  if (!task.job.valid()) {
    DropTask(id);
  } else if (task.phase != TaskPhase::kSucceeded) {
    SetPhase(id, Unplaced(task), NodeId(), {});
  }
}

}  // namespace tephra
