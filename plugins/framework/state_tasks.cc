// The rows of tasks and jobs behind the facts: who is where, what it holds, who waits.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "plugins/framework/state.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

bool CountsToMinimum(TaskPhase phase) {
  return phase == TaskPhase::kAssumed || phase == TaskPhase::kRunning ||
         phase == TaskPhase::kSucceeded;
}

Resources Held(const Account& account) {
  Resources held = account.holds;
  return held.Add(account.coming);
}

// The accounts hold what the tasks do, each once.
std::string CheckUsage(const Books& books,
                       std::map<std::pair<QueueId, std::string>, Resources> by_user) {
  const auto& rows = books.usage.rows();
  for (std::size_t q = 0; q < rows.size(); ++q) {
    const QueueId queue(q);
    if (Held(rows[q].own) != books.occupancy.queue_own(queue)) {
      return "queue \"" + books.queues.spec(queue).name + "\": usage: holds another amount";
    }
    for (const auto& [user, account] : rows[q].users) {
      const auto held = by_user.find({queue, user});
      if (Held(account) != (held == by_user.end() ? Resources{} : held->second)) {
        return "queue \"" + books.queues.spec(queue).name + "\": usage: user \"" + user +
               "\" holds another amount";
      }
      if (held != by_user.end()) by_user.erase(held);
    }
  }
  for (const auto& [account, held] : by_user) {
    if (held != Resources{}) {
      return "queue \"" + books.queues.spec(account.first).name + "\": usage: user \"" +
             account.second + "\" has no account";
    }
  }
  return "";
}

bool Waits(TaskPhase phase) { return phase == TaskPhase::kPending || phase == TaskPhase::kHeld; }

}  // namespace

absl::StatusOr<TaskId> State::FindTask(const TaskFact& fact) {
  const auto known = tasks_by_uid_.find(fact.uid);
  if (fact.job.empty()) {
    if (known != tasks_by_uid_.end()) return known->second;
    const TaskId id = NewTask();
    TaskRow& task = books_.tasks[id.index()];
    task.uid = fact.uid;
    task.cls = AcquireClass(*fact.pod);
    task.phase = TaskPhase::kFailed;  // asks for nothing until its phase is set
    tasks_by_uid_[fact.uid] = id;
    return id;
  }
  const std::string where = "task \"" + fact.uid + "\"";
  // One that outlived its place in its job is still known by its uid.
  const bool outlived =
      known != tasks_by_uid_.end() && !books_.tasks[known->second.index()].job.valid();
  const JobId job = FindJob(fact.job);
  if (!job.valid()) {
    if (outlived) return known->second;
    return absl::NotFoundError(where + ": job: \"" + fact.job + "\" is not known");
  }
  for (const RoleRow& role : books_.jobs[job.index()].roles) {
    if (role.name != fact.role) continue;
    if (fact.index < 0 || static_cast<std::size_t>(fact.index) >= role.tasks.size()) {
      if (outlived) return known->second;
      return absl::NotFoundError(where + ": index: " + std::to_string(fact.index) + ", role \"" +
                                 fact.role + "\" has " + std::to_string(role.tasks.size()) +
                                 " tasks");
    }
    return role.tasks[static_cast<std::size_t>(fact.index)];
  }
  if (outlived) return known->second;
  return absl::NotFoundError(where + ": role: job \"" + fact.job + "\" has no role \"" + fact.role +
                             "\"");
}

// What becomes of a task that loses its place.
TaskPhase State::Unplaced(const TaskRow& task) const {
  if (!task.job.valid()) return TaskPhase::kFailed;  // its job went: nobody asks for it
  const bool absent = task.uid.empty() && books_.jobs[task.job.index()].pods_exist;
  return absent ? TaskPhase::kAbsent : TaskPhase::kPending;
}

// After the job's pods came to be, or are no longer expected: who asks to run now. What was
// assumed before they came was room held for them, and is decided anew by what they are.
void State::FollowPods(JobId id, bool pods_came) {
  for (const RoleRow& role : books_.jobs[id.index()].roles) {
    for (TaskId task : role.tasks) {
      const TaskRow& row = books_.tasks[task.index()];
      const bool unplaced =
          row.phase == TaskPhase::kPending || row.phase == TaskPhase::kAbsent ||
          (pods_came && (row.phase == TaskPhase::kAssumed || row.phase == TaskPhase::kHeld));
      if (unplaced && row.phase != Unplaced(row)) SetPhase(task, Unplaced(row), NodeId(), {});
    }
  }
}

TaskId State::NewTask() {
  if (unused_tasks_.empty()) {
    books_.tasks.emplace_back();
    return TaskId(books_.tasks.size() - 1);
  }
  const TaskId id = unused_tasks_.back();
  unused_tasks_.pop_back();
  books_.tasks[id.index()] = TaskRow{};
  return id;
}

void State::DropTask(TaskId id) {
  LeaveBerth(id);
  SetPhase(id, TaskPhase::kFailed, NodeId(), {});
  TaskRow& task = books_.tasks[id.index()];
  if (!task.uid.empty()) tasks_by_uid_.erase(task.uid);
  books_.classes.Release(task.cls);
  task = TaskRow{};
  task.phase = TaskPhase::kFailed;
  unused_tasks_.push_back(id);
}

QueueId State::QueueOf(const TaskRow& task) const {
  return task.job.valid() ? books_.jobs[task.job.index()].queue : QueueId();
}

void State::ChargeTask(const TaskRow& task, int sign) {
  const auto charge = [&] {
    books_.occupancy.Charge(books_.facts(), books_.classes[task.cls], QueueOf(task), task.node,
                            task.slices, sign);
  };
  if (!books_.usage.on() || !task.job.valid()) return charge();
  const JobRow& job = books_.jobs[task.job.index()];
  const Resources before = books_.occupancy.queue_own(job.queue);
  charge();
  Resources more = books_.occupancy.queue_own(job.queue);
  books_.usage.Hold(job.queue, job.user, more.Add(before, -1));
}

void State::Seat(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  if (!HoldsRoom(task.phase)) return;
  auto& here = books_.tasks_on[task.node.index()];
  task.place_on_node = static_cast<std::uint32_t>(here.size());
  here.push_back(id);
  if (books_.hardware.present(task.node)) ChargeTask(task, +1);
}

void State::Unseat(TaskId id) {
  const TaskRow& task = books_.tasks[id.index()];
  if (!HoldsRoom(task.phase)) return;
  if (books_.hardware.present(task.node)) ChargeTask(task, -1);
  auto& here = books_.tasks_on[task.node.index()];
  here[task.place_on_node] = here.back();
  books_.tasks[here.back().index()].place_on_node = task.place_on_node;
  here.pop_back();
}

// A running job's pod and the pending one: the counters of role and queue.
void State::Count(const TaskRow& task, int sign) {
  if (!task.job.valid()) return;
  const JobRow& job = books_.jobs[task.job.index()];
  RoleRow& role = books_.jobs[task.job.index()].roles[task.role];
  if (task.phase == TaskPhase::kPending) {
    role.pending += sign;
    CountDemand(job.queue, task.cls, sign);
  }
  if (task.phase == TaskPhase::kHeld) role.held += sign;
  if (!CountsToMinimum(task.phase)) return;
  role.counted += sign;
  ListPlaced(task.job);
}

// The list of jobs of which a task counts: whether this is in it.
void State::ListPlaced(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  const bool counts = job.counted() > 0;
  if (counts == (job.placed_at != JobRow::kNotPlaced)) return;
  if (books_.placed.size() <= job.queue.index()) books_.placed.resize(job.queue.index() + 1);
  std::vector<JobId>& placed = books_.placed[job.queue.index()];
  if (counts) {
    job.placed_at = static_cast<std::uint32_t>(placed.size());
    placed.push_back(id);
    return;
  }
  placed[job.placed_at] = placed.back();
  books_.jobs[placed.back().index()].placed_at = job.placed_at;
  placed.pop_back();
  job.placed_at = JobRow::kNotPlaced;
}

std::string State::CheckPlaced() const {
  std::set<std::pair<QueueId, JobId>> listed, counting;
  for (std::size_t q = 0; q < books_.placed.size(); ++q) {
    for (std::size_t i = 0; i < books_.placed[q].size(); ++i) {
      const JobId id = books_.placed[q][i];
      if (books_.jobs[id.index()].placed_at != i)
        return "a job is not where it is listed as placed";
      listed.emplace(QueueId(q), id);
    }
  }
  for (std::size_t j = 0; j < books_.jobs.size(); ++j) {
    const JobRow& job = books_.jobs[j];
    if (job.live && job.counted() > 0) counting.emplace(job.queue, JobId(j));
  }
  return listed == counting ? "" : "placed jobs of queues differ from those of which a task counts";
}

void State::CountDemand(QueueId queue, ClassId cls, int sign) {
  if (!queue.valid()) return;
  if (books_.queue_pending.size() <= queue.index()) books_.queue_pending.resize(queue.index() + 1);
  const TaskClass& asks = books_.classes[cls];
  Books::Demand& demand = books_.queue_pending[queue.index()];
  demand.amount.AddKinds(asks.demand, sign, asks.demand_kinds | 1u << kGpu | 1u << kGpuMemory);
  demand.whole_gpus += sign * asks.whole_gpus;
}

void State::SetPhase(TaskId id, TaskPhase phase, NodeId node, Slices slices) {
  TaskRow& task = books_.tasks[id.index()];
  const bool seat_changes = HoldsRoom(phase) != HoldsRoom(task.phase) ||
                            (HoldsRoom(phase) && (node != task.node || slices != task.slices));
  const bool was_pending = task.phase == TaskPhase::kPending;
  const bool wait_changes = Waits(task.phase) != Waits(phase);
  const bool counted = CountsToMinimum(task.phase);
  if ((phase == TaskPhase::kReleasing) != (task.phase == TaskPhase::kReleasing)) {
    ListReleasing(id, phase == TaskPhase::kReleasing);
  }
  const bool asks_anew = phase == TaskPhase::kPending || phase == TaskPhase::kAbsent;
  FollowBerth(id, phase);
  Count(task, -1);
  task.evicting = false;
  if (phase != TaskPhase::kReleasing) task.evicted_for = JobId();
  if (seat_changes) {
    if (HoldsRoom(task.phase)) {
      growth_.On(task.node);
      if (task.expected_end != 0) expected_ends_.push_back(task.expected_end);
    }
    Unseat(id);
    task.phase = phase;
    task.node = node;
    task.slices = std::move(slices);
    Seat(id);
  } else {
    task.phase = phase;
  }
  Count(task, +1);
  FollowTimeline(id);
  if (!task.job.valid()) return;
  books_.inqueue.Touch(task.job);
  JobRow& job = books_.jobs[task.job.index()];
  if (asks_anew && !was_pending) ChangeClass(task, job.roles[task.role].cls);
  if (!was_pending && phase == TaskPhase::kPending) MarkDue(task.job);
  if (wait_changes) {
    RefreshWaiting(task.job);
  } else {
    books_.lines.Follow(books_, task.job);  // it may run now, or keep room
  }
  // An elastic group that is gone is missed by nobody.
  const bool may_satisfy = CountsToMinimum(phase) || (counted && !job.groups.empty());
  if (may_satisfy && job.satisfied()) LiftHolds(task.job);
  if (!job.broken) return;
  job.broken = !job.satisfied();
  // Another of its bindings has come out: time to complete or unwind it.
  if (job.broken && phase != TaskPhase::kAssumed) MarkDue(task.job);
}

// --- tasks that move -----------------------------------------------------------------------

// Sets aside where a task that is evicted goes on, so that nobody takes it in between.
void State::KeepBerth(const Placement& move) {
  const TaskId id = NewTask();
  TaskRow& task = books_.tasks[move.task.index()];
  TEPHRA_CHECK(!task.berth.valid() && task.job.valid());
  TaskRow& berth = books_.tasks[id.index()];
  berth.job = task.job;
  berth.role = task.role;
  berth.index = task.index;
  berth.cls = task.cls;
  books_.classes.Retain(berth.cls);
  berth.phase = TaskPhase::kBerth;
  berth.node = move.node;
  berth.slices = move.slices;
  Seat(id);
  task.berth = id;
  ++books_.jobs[task.job.index()].berths;
  books_.lines.Follow(books_, task.job);
  books_.inqueue.Touch(task.job);
}

void State::LeaveBerth(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  if (!task.berth.valid()) return;
  const TaskId berth = std::exchange(task.berth, TaskId());
  Unseat(berth);
  books_.classes.Release(books_.tasks[berth.index()].cls);
  books_.tasks[berth.index()] = TaskRow{};
  books_.tasks[berth.index()].phase = TaskPhase::kFailed;
  unused_tasks_.push_back(berth);
  --books_.jobs[task.job.index()].berths;
  books_.lines.Follow(books_, task.job);
  books_.inqueue.Touch(task.job);
  growth_.Anywhere();
}

void State::LeaveBerths(JobId id) {
  if (books_.jobs[id.index()].berths == 0) return;
  for (const RoleRow& role : books_.jobs[id.index()].roles) {
    for (const TaskId task : role.tasks) LeaveBerth(task);
  }
}

// What becomes of the room that is kept for the task, now that its phase changes: it is needed
// until the task has a place again, or ends.
void State::FollowBerth(TaskId id, TaskPhase phase) {
  const TaskRow& task = books_.tasks[id.index()];
  if (!task.berth.valid()) return;
  const auto gone = [](TaskPhase one) {
    return one == TaskPhase::kAbsent || one == TaskPhase::kFailed;
  };
  if (gone(phase)) {
    if (gone(task.phase)) return;
    books_.tasks[task.berth.index()].assumed_at = cycle_time_;
    awaited_.emplace_back(cycle_time_, id);
  } else if (phase != TaskPhase::kPending && phase != TaskPhase::kReleasing) {
    LeaveBerth(id);
  }
}

// Who does not come again is not waited for.
void State::ExpireBerths(TimeMs now) {
  while (!awaited_.empty() &&
         now - awaited_.front().first >= books_.config.consolidation.return_timeout_ms) {
    const auto [at, id] = awaited_.front();
    awaited_.pop_front();
    const TaskRow& task = books_.tasks[id.index()];
    const bool gone = task.phase == TaskPhase::kAbsent || task.phase == TaskPhase::kFailed;
    if (!gone || !task.berth.valid()) continue;
    if (books_.tasks[task.berth.index()].assumed_at != at) continue;
    MarkDue(task.job);
    LeaveBerth(id);
    ++books_.version;
  }
}

void State::ListReleasing(TaskId id, bool on) {
  std::vector<TaskId>& list = books_.releasing;
  TaskRow& task = books_.tasks[id.index()];
  if (on) {
    task.place_releasing = static_cast<std::uint32_t>(list.size());
    list.push_back(id);
    return;
  }
  list[task.place_releasing] = list.back();
  books_.tasks[list.back().index()].place_releasing = task.place_releasing;
  list.pop_back();
}

// Takes over the room that was set aside for the task before this engine came to be, once it asks.
void State::Hold(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  if (task.phase != TaskPhase::kPending || !task.job.valid()) return;
  if (books_.jobs[task.job.index()].to_hold.empty()) return;
  JobRow& job = books_.jobs[task.job.index()];
  const auto room = std::find_if(job.to_hold.begin(), job.to_hold.end(), [&](const HeldRoom& one) {
    return one.role == job.roles[task.role].name && one.index == task.index;
  });
  if (room == job.to_hold.end()) return;
  const HeldRoom held = std::move(*room);
  job.to_hold.erase(room);
  if (job.satisfied()) return;
  const NodeId node = books_.hardware.Reserve(held.node);
  if (books_.tasks_on.size() <= node.index()) books_.tasks_on.resize(node.index() + 1);
  books_.occupancy.Grow(books_.facts());
  SetPhase(id, TaskPhase::kHeld, node, held.slices);
}

// What the job asks for is decided anew, or it has all that it needs.
void State::LiftHolds(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  job.to_hold.clear();
  if (job.held() == 0) return;
  for (const RoleRow& role : job.roles) {
    for (TaskId task : role.tasks) {
      const TaskRow& row = books_.tasks[task.index()];
      if (row.phase == TaskPhase::kHeld) SetPhase(task, Unplaced(row), NodeId(), {});
    }
  }
}

// A task that asks anew asks for what its role says now. REQUIRES: it holds no room.
void State::ChangeClass(TaskRow& task, ClassId cls) {
  if (task.cls == cls) return;
  if (task.phase == TaskPhase::kPending) {
    CountDemand(QueueOf(task), task.cls, -1);
    CountDemand(QueueOf(task), cls, +1);
  }
  books_.classes.Retain(cls);
  books_.classes.Release(task.cls);
  task.cls = cls;
}

// The class of the template, ready to be charged. A new one may get the id of one that was refused
// somewhere.
ClassId State::AcquireClass(const PodTemplate& pod) {
  for (const DomainLimit& limit : pod.limits) books_.hardware.FollowKey(limit.topology_key);
  const std::uint64_t generations = books_.classes.generations();
  const ClassId cls = books_.classes.Acquire(pod);
  if (books_.classes.generations() != generations) {
    std::erase_if(books_.refused, [&](std::uint64_t key) { return key >> 32 == cls.value; });
  }
  books_.occupancy.Grow(books_.facts());  // its limits may be new
  return cls;
}

Slices State::GuessSlices(ClassId cls, NodeId node) const {
  const TaskClass& wanted = books_.classes[cls];
  Slices guess;
  if (!books_.hardware.present(node)) return guess;
  const NodeView view = books_.occupancy.View(books_.hardware, node);
  for (const std::vector<DeviceAsk>* asks : {&wanted.lasting, &wanted.init}) {
    for (const DeviceAsk& ask : *asks) {
      std::int32_t missing = ask.request.count;
      for (std::size_t d = 0; d < view.devices.size() && missing > 0; ++d) {
        const auto taken =
            std::any_of(guess.begin(), guess.end(), [&](const Slice& s) { return s.device == d; });
        const DeviceRequest& asked = ask.request;
        const DeviceState device = view.device(d);
        // A pod that runs may hold more than is free: of its amounts only compute is asked about.
        const bool may = asked.whole() ? device.row.users() == 0
                         : asked.mode() == SliceMode::kFraction
                             ? device.row.free_compute >= asked.compute
                             : HasRoom(device, asked, wanted.pod.user_id);
        if (taken || !may) continue;
        guess.push_back(SliceOf(device, asked, ask.container, static_cast<std::uint16_t>(d)));
        --missing;
      }
    }
  }
  return guess;
}

// The node's devices may have become known after the pods that run there. By uid, so that the
// order in which they came does not matter.
void State::GuessMissingSlices(NodeId node) {
  std::vector<TaskId> bare;
  for (TaskId id : books_.tasks_on[node.index()]) {
    const TaskRow& task = books_.tasks[id.index()];
    if (task.slices.empty() && books_.classes[task.cls].needs_devices()) bare.push_back(id);
  }
  std::sort(bare.begin(), bare.end(), [&](TaskId a, TaskId b) {
    return books_.tasks[a.index()].uid < books_.tasks[b.index()].uid;
  });
  for (TaskId id : bare) {
    TaskRow& task = books_.tasks[id.index()];
    Slices guess = GuessSlices(task.cls, node);
    if (guess.empty()) continue;
    ChargeTask(task, -1);
    task.slices = std::move(guess);
    ChargeTask(task, +1);
  }
}

// --- jobs ----------------------------------------------------------------------------------

// Makes the role `replicas` tasks long. Pending tasks take the class; those that hold room keep
// the one they were started with, and live on without a job where the role no longer has them.
void State::ReshapeRole(JobId id, std::uint32_t r, std::int32_t replicas, ClassId cls) {
  std::vector<TaskId> tasks = std::move(books_.jobs[id.index()].roles[r].tasks);
  const auto wanted = static_cast<std::size_t>(replicas);
  for (std::size_t i = 0; i < std::min(wanted, tasks.size()); ++i) {
    TaskRow& task = books_.tasks[tasks[i].index()];
    if (task.berth.valid() && books_.tasks[task.berth.index()].cls != cls) LeaveBerth(tasks[i]);
    if (task.phase == TaskPhase::kHeld && task.cls != cls) {
      SetPhase(tasks[i], Unplaced(task), NodeId(), {});
    }
    const bool asks = task.phase == TaskPhase::kPending || task.phase == TaskPhase::kAbsent;
    if (asks) ChangeClass(task, cls);
  }
  while (tasks.size() > wanted) {
    const TaskId gone = tasks.back();
    tasks.pop_back();
    TaskRow& task = books_.tasks[gone.index()];
    if (task.uid.empty() || !HoldsRoom(task.phase) || task.phase == TaskPhase::kHeld) {
      DropTask(gone);
      continue;
    }
    LeaveBerth(gone);
    if (books_.hardware.present(task.node)) ChargeTask(task, -1);
    Count(task, -1);
    task.job = JobId();
    task.expected_run_ms = books_.jobs[id.index()].expected_run_ms;
    if (books_.hardware.present(task.node)) ChargeTask(task, +1);
    FollowTimeline(gone);
    growth_.Anywhere();
  }
  tasks.reserve(wanted);
  const auto come = static_cast<std::int64_t>(wanted) - static_cast<std::int64_t>(tasks.size());
  books_.recent_pods.Came(books_.classes[cls], come);
  while (tasks.size() < wanted) {
    const TaskId fresh = NewTask();
    TaskRow& task = books_.tasks[fresh.index()];
    task.job = id;
    task.role = r;
    task.index = static_cast<std::int32_t>(tasks.size());
    task.phase = Unplaced(task);
    task.cls = cls;
    books_.classes.Retain(cls);
    tasks.push_back(fresh);
    Count(task, +1);
  }
  books_.jobs[id.index()].roles[r].tasks = std::move(tasks);
}

// Each is kept for one task, which is on its way.
std::string State::CheckBerths() const {
  std::int64_t rows = 0, kept = 0;
  for (const TaskRow& task : books_.tasks) rows += task.phase == TaskPhase::kBerth;
  std::int32_t movable = 0;
  for (const JobRow& job : books_.jobs) {
    movable += job.live && job.movable;
    std::int32_t berths = 0;
    for (const RoleRow& role : job.roles) {
      for (const TaskId id : role.tasks) {
        const TaskRow& task = books_.tasks[id.index()];
        if (!task.berth.valid()) continue;
        ++berths;
        const TaskRow& berth = books_.tasks[task.berth.index()];
        if (berth.phase != TaskPhase::kBerth || berth.job != task.job || berth.role != task.role ||
            berth.index != task.index) {
          return "job \"" + job.name + "\": room is kept for another task";
        }
        if (HoldsRoom(task.phase) && task.phase != TaskPhase::kReleasing) {
          return "job \"" + job.name + "\": room is kept for a task that has a place";
        }
      }
    }
    if (berths != job.berths) return "job \"" + job.name + "\": room kept differs from its tasks'";
    kept += berths;
  }
  if (movable != books_.movable_jobs) return "jobs that may be moved: counted otherwise";
  return kept == rows ? "" : "room is kept for tasks that there are not";
}

std::string State::CheckBooks() const {
  Occupancy fresh;
  fresh.Grow(books_.facts());
  std::map<std::pair<QueueId, std::string>, Resources> by_user;
  for (std::size_t n = 0; n < books_.hardware.slots(); ++n)
    fresh.ResetNode(books_.facts(), NodeId(n));
  for (const TaskRow& task : books_.tasks) {
    if (!HoldsRoom(task.phase) || !books_.hardware.present(task.node)) continue;
    const QueueId queue = QueueOf(task);
    const bool counts = books_.usage.on() && queue.valid();
    const Resources before = counts ? fresh.queue_own(queue) : Resources{};
    fresh.Charge(books_.facts(), books_.classes[task.cls], queue, task.node, task.slices, +1);
    if (!counts) continue;
    by_user[{queue, books_.jobs[task.job.index()].user}]
        .Add(fresh.queue_own(queue))
        .Add(before, -1);
  }
  fresh.RollUpQueues(books_.queues);
  if (!fresh.SameColumns(books_.occupancy)) return "occupancy differs from what the tasks hold";
  if (const std::string fault = CheckUsage(books_, std::move(by_user)); !fault.empty())
    return fault;
  std::vector<Books::Demand> pending(books_.queue_pending.size());
  for (const TaskRow& task : books_.tasks) {
    if (!task.job.valid() || task.phase != TaskPhase::kPending) continue;
    const TaskClass& asks = books_.classes[task.cls];
    pending[QueueOf(task).index()].amount.Add(asks.demand);
    pending[QueueOf(task).index()].whole_gpus += asks.whole_gpus;
  }
  if (pending != books_.queue_pending) return "demand of queues differs from what is pending";
  if (const std::string fault = CheckBerths(); !fault.empty()) return fault;
  if (const std::string fault = CheckTimeline(); !fault.empty()) return fault;
  std::vector<std::map<std::int32_t, std::int32_t>> priorities(books_.queue_priorities.size());
  for (const JobRow& job : books_.jobs) {
    if (!job.live) continue;
    ++priorities[job.queue.index()][job.priority];
    for (const RoleRow& role : job.roles) {
      std::int32_t pending = 0, held = 0, counted = 0;
      for (TaskId id : role.tasks) {
        const TaskRow& task = books_.tasks[id.index()];
        const bool asks = task.phase == TaskPhase::kPending || task.phase == TaskPhase::kAbsent;
        if (asks && task.phase != Unplaced(task)) {
          return "job \"" + job.name + "\" role \"" + role.name + "\": task " +
                 std::to_string(task.index) + " asks to run without a pod, or fails to with one";
        }
        pending += books_.tasks[id.index()].phase == TaskPhase::kPending;
        held += books_.tasks[id.index()].phase == TaskPhase::kHeld;
        counted += CountsToMinimum(books_.tasks[id.index()].phase);
      }
      if (pending != role.pending || held != role.held || counted != role.counted) {
        return "job \"" + job.name + "\" role \"" + role.name +
               "\": counters differ from its tasks";
      }
    }
    if (job.waits() != (job.waiting_at != JobRow::kNotWaiting)) {
      return "job \"" + job.name + "\" is not where waiting jobs are listed";
    }
  }
  if (const std::string fault = CheckPlaced(); !fault.empty()) return fault;
  if (priorities != books_.queue_priorities) return "priorities in queues differ from the jobs'";
  if (const std::string fault = books_.lines.Check(books_); !fault.empty()) return fault;
  Inqueue inqueue = books_.inqueue;
  inqueue.Follow(books_);
  return inqueue.Check(books_);
}

}  // namespace tephra
