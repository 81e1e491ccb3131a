#include "plugins/framework/state.h"

#include <algorithm>

#include "topology/base/check.h"

namespace tephra {
namespace {

bool CountsToMinimum(TaskPhase phase) {
  return phase == TaskPhase::kAssumed || phase == TaskPhase::kRunning ||
         phase == TaskPhase::kSucceeded;
}

// True where `version` is new for `name`, which then remembers it.
bool Newer(std::unordered_map<std::string, std::uint64_t>& known, const std::string& name,
           std::uint64_t version) {
  const auto [it, fresh] = known.try_emplace(name, version);
  if (fresh) return true;
  if (version <= it->second) return false;
  it->second = version;
  return true;
}

absl::Status ValidateNode(const NodeSpec& node) {
  const std::string where = "node \"" + node.name + "\"";
  if (node.name.empty()) return absl::InvalidArgumentError("node: name: empty");
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    const std::int64_t amount = node.allocatable[kind];
    const bool derived = kind == kGpu || kind == kGpuMemory;
    if (amount < 0 || (derived && amount != 0)) {
      return absl::InvalidArgumentError(where + ": allocatable[kind " + std::to_string(kind) +
                                        "]: " + std::to_string(amount) +
                                        (derived ? ", expected 0, it is derived from devices"
                                                 : ", expected at least 0"));
    }
  }
  for (const DeviceHardware& device : node.devices) {
    if (device.memory_mib < 0) {
      return absl::InvalidArgumentError(where + ": device memory_mib: " +
                                        std::to_string(device.memory_mib) +
                                        ", expected at least 0");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status State::Apply(const Event& event) {
  TEPHRA_CHECK_OP(living_snapshots_, ==, 0);
  absl::Status status = std::visit([this](const auto& fact) { return On(fact); }, event);
  if (status.ok()) ++books_.version;
  return status;
}

Snapshot State::Freeze(TimeMs now) {
  books_.hardware.Settle();
  books_.occupancy.Grow(books_.facts());
  return Snapshot(books_, now, &living_snapshots_);
}

JobId State::FindJob(const std::string& uid) const {
  const auto it = jobs_by_uid_.find(uid);
  return it == jobs_by_uid_.end() ? JobId() : it->second;
}

std::vector<JobId> State::TakeDue() {
  TEPHRA_CHECK_OP(living_snapshots_, ==, 0);
  const bool grown = books_.growth != asked_growth_;
  asked_growth_ = books_.growth;
  for (JobId id : due_) books_.jobs[id.index()].due = false;
  std::vector<JobId> due = std::move(due_);
  due_.clear();
  if (grown) {
    due = books_.waiting;
  } else {
    std::erase_if(due, [&](JobId id) {
      return books_.jobs[id.index()].waiting_at == JobRow::kNotWaiting;
    });
  }
  return due;
}

// --- facts ---------------------------------------------------------------------------------

absl::Status State::On(const KindsDeclared& fact) {
  ResourceKinds grown = books_.kinds;
  for (std::size_t i = 0; i < fact.names.size(); ++i) {
    TEPHRA_ASSIGN_OR_RETURN(const Kind kind, grown.Intern(fact.names[i]));
    if (kind != kFirstExtendedKind + i) {
      return absl::InvalidArgumentError("resource kind \"" + fact.names[i] + "\": declared as number " +
                                        std::to_string(kFirstExtendedKind + i) + ", known as " +
                                        std::to_string(kind));
    }
  }
  books_.kinds = std::move(grown);
  return absl::OkStatus();
}

// Takes the node's tasks off it, applies the change, and puts them back: so charge and undo see
// the same devices and domains whatever changes between them.
template <class Change>
void State::ChangeNode(NodeId node, Change change) {
  if (tasks_on_.size() <= node.index()) tasks_on_.resize(node.index() + 1);
  books_.occupancy.Grow(books_.facts());
  const bool was_present = books_.hardware.present(node);
  for (TaskId id : tasks_on_[node.index()]) {
    if (was_present) ChargeTask(books_.tasks[id.index()], -1);
  }
  books_.occupancy.ClearDevices(books_.hardware, node);
  change();
  books_.occupancy.ResetNode(books_.facts(), node);
  for (TaskId id : tasks_on_[node.index()]) {
    if (books_.hardware.present(node)) ChargeTask(books_.tasks[id.index()], +1);
  }
  std::erase_if(books_.refused, [&](std::uint64_t key) {
    return static_cast<std::uint32_t>(key) == node.value;
  });
  ++books_.growth;
}

absl::Status State::On(const NodeUpserted& fact) {
  TEPHRA_RETURN_IF_ERROR(ValidateNode(fact.node));
  if (!Newer(node_versions_, fact.node.name, fact.version)) return absl::OkStatus();
  const NodeId node = books_.hardware.Reserve(fact.node.name);
  if (books_.hardware.present(node) && books_.hardware.spec(node) == fact.node) {
    return absl::OkStatus();
  }
  ChangeNode(node, [&] { books_.hardware.Upsert(fact.node); });
  return absl::OkStatus();
}

absl::Status State::On(const NodeRemoved& fact) {
  node_versions_.erase(fact.name);
  const NodeId node = books_.hardware.Find(fact.name);
  if (node.valid()) ChangeNode(node, [&] { books_.hardware.Remove(node); });
  return absl::OkStatus();
}

absl::Status State::On(const QueueUpserted& fact) {
  const auto known = queue_versions_.find(fact.queue.name);
  if (known != queue_versions_.end() && fact.version <= known->second) return absl::OkStatus();
  TEPHRA_RETURN_IF_ERROR(books_.queues.Upsert(fact.queue));
  queue_versions_[fact.queue.name] = fact.version;
  books_.occupancy.Grow(books_.facts());
  books_.occupancy.RollUpQueues(books_.queues);
  ++books_.growth;
  return absl::OkStatus();
}

absl::Status State::On(const QueueRemoved& fact) {
  queue_versions_.erase(fact.name);
  books_.queues.Remove(fact.name);
  books_.occupancy.RollUpQueues(books_.queues);
  ++books_.growth;
  return absl::OkStatus();
}

absl::Status State::On(const JobUpserted& fact) {
  const JobSpec& spec = fact.job;
  TEPHRA_RETURN_IF_ERROR(ValidateJob(spec));
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

  const QueueId queue = books_.queues.Reserve(spec.queue);
  books_.occupancy.Grow(books_.facts());
  if (!fresh && queue != job.queue) {
    // What it holds moves to the other queue.
    const auto charge_all = [&](int sign) {
      for (const RoleRow& role : job.roles) {
        for (TaskId task : role.tasks) {
          const TaskRow& row = books_.tasks[task.index()];
          if (HoldsRoom(row.phase) && books_.hardware.present(row.node)) ChargeTask(row, sign);
        }
      }
    };
    charge_all(-1);
    job.queue = queue;
    charge_all(+1);
    ++books_.growth;
  }
  job.uid = spec.uid;
  job.name = spec.name;
  job.queue_name = spec.queue;
  job.queue = queue;
  job.priority = spec.priority;
  job.created = spec.created;
  job.min_member = spec.gang.min_member;
  job.version = fact.version;
  job.quarantined = false;

  // Roles keep their index by name; one that is no longer named shrinks to nothing.
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const bool named = std::any_of(
        spec.gang.roles.begin(), spec.gang.roles.end(),
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
    ReshapeRole(id, r, role.replicas, cls);
    job.roles[r].cls = cls;  // takes over the reference of Acquire
    if (old.valid()) books_.classes.Release(old);
  }
  MarkDue(id);
  RefreshWaiting(id);
  return absl::OkStatus();
}

absl::Status State::On(const JobRemoved& fact) {
  const auto it = jobs_by_uid_.find(fact.uid);
  if (it == jobs_by_uid_.end()) return absl::OkStatus();
  const JobId id = it->second;
  for (std::uint32_t r = 0; r < books_.jobs[id.index()].roles.size(); ++r) {
    ReshapeRole(id, r, 0, books_.jobs[id.index()].roles[r].cls);
    books_.classes.Release(books_.jobs[id.index()].roles[r].cls);
  }
  RefreshWaiting(id);
  if (books_.jobs[id.index()].due) std::erase(due_, id);
  books_.jobs[id.index()] = JobRow{};
  unused_jobs_.push_back(id);
  jobs_by_uid_.erase(it);
  return absl::OkStatus();
}

absl::Status State::On(const TaskUpserted& fact) {
  const TaskFact& said = fact.task;
  if (said.uid.empty()) return absl::InvalidArgumentError("task: uid: empty");
  const std::string where = "task \"" + said.uid + "\"";
  if (said.phase == TaskPhase::kAssumed) {
    return absl::InvalidArgumentError(where + ": phase: assumed is not a fact");
  }
  if (HoldsRoom(said.phase) && said.node.empty()) {
    return absl::InvalidArgumentError(where + ": node: empty, expected the node it is bound to");
  }
  if (said.job.empty() && !said.pod.has_value()) {
    return absl::InvalidArgumentError(where + ": pod: absent, expected for a pod without a job");
  }
  if (said.pod.has_value()) TEPHRA_RETURN_IF_ERROR(ValidatePod(where, *said.pod));
  TEPHRA_ASSIGN_OR_RETURN(const TaskId id, FindTask(said));
  TaskRow& task = books_.tasks[id.index()];
  const bool same_pod = task.uid == said.uid;
  if (same_pod && fact.version <= task.version) return absl::OkStatus();
  if (!same_pod) {
    // Known in another place: it left there.
    const auto known = tasks_by_uid_.find(said.uid);
    if (known != tasks_by_uid_.end()) RemovePod(known->second);
    if (!task.uid.empty()) tasks_by_uid_.erase(task.uid);
    task.uid = said.uid;
    tasks_by_uid_[said.uid] = id;
  }
  task.version = fact.version;
  if (said.pod.has_value() && !task.job.valid() && *said.pod != books_.classes[task.cls].pod) {
    // Resized in place: what it held goes before it is charged anew.
    SetPhase(id, TaskPhase::kFailed, NodeId(), {});
    const ClassId cls = AcquireClass(*said.pod);
    books_.classes.Release(task.cls);
    task.cls = cls;
  }
  // A pending pod whose binding is under way is still assumed.
  if (said.phase == TaskPhase::kPending && task.phase == TaskPhase::kAssumed) {
    return absl::OkStatus();
  }
  NodeId node;
  Slices slices;
  if (HoldsRoom(said.phase)) {
    node = books_.hardware.Reserve(said.node);
    if (tasks_on_.size() <= node.index()) tasks_on_.resize(node.index() + 1);
    books_.occupancy.Grow(books_.facts());
    slices = said.slices;
    if (slices.empty() && books_.classes[task.cls].needs_devices()) {
      // Until told otherwise it keeps the slices that were assumed or guessed for it here.
      slices = HoldsRoom(task.phase) && task.node == node ? task.slices
                                                          : GuessSlices(task.cls, node);
    }
  }
  SetPhase(id, said.phase, node, std::move(slices));
  return absl::OkStatus();
}

absl::Status State::On(const TaskRemoved& fact) {
  const auto it = tasks_by_uid_.find(fact.uid);
  if (it != tasks_by_uid_.end()) RemovePod(it->second);
  return absl::OkStatus();
}

void State::RemovePod(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  tasks_by_uid_.erase(task.uid);
  task.uid.clear();
  task.version = 0;
  if (!task.job.valid()) {
    DropTask(id);
  } else if (task.phase != TaskPhase::kSucceeded) {
    SetPhase(id, TaskPhase::kPending, NodeId(), {});
  }
}

absl::Status State::On(const PlacementRefused& fact) {
  const JobId id = FindJob(fact.job);
  if (!id.valid()) return absl::OkStatus();  // the job went meanwhile
  const JobRow& job = books_.jobs[id.index()];
  const auto role = std::find_if(job.roles.begin(), job.roles.end(),
                                 [&](const RoleRow& row) { return row.name == fact.role; });
  if (role == job.roles.end()) {
    return absl::NotFoundError("refusal: job \"" + job.name + "\" has no role \"" + fact.role + "\"");
  }
  const NodeId node = books_.hardware.Find(fact.node);
  if (node.valid()) {
    books_.refused.insert(RefusalKey(role->cls, node));
    books_.occupancy.Touch(node);
  }
  for (const RoleRow& row : job.roles) {
    for (TaskId task : row.tasks) {
      if (books_.tasks[task.index()].phase == TaskPhase::kAssumed) {
        SetPhase(task, TaskPhase::kPending, NodeId(), {});
      }
    }
  }
  MarkDue(id);
  return absl::OkStatus();
}

absl::Status State::On(const ConfigChanged& fact) {
  books_.config = fact.config;
  ++books_.config_version;
  ++books_.growth;
  return absl::OkStatus();
}

// --- what a plan brings about --------------------------------------------------------------

void State::Assume(const Plan& plan) {
  for (const Decision& decision : plan.decisions) {
    for (const Placement& placement : decision.placements) {
      SetPhase(placement.task, TaskPhase::kAssumed, placement.node, placement.slices);
      books_.tasks[placement.task.index()].assumed_at = plan.now;
      assumptions_.emplace_back(plan.now, placement.task);
    }
    if (decision.part == Part::kElastic && decision.verdict == Verdict::kWait) continue;
    Standing& standing = books_.jobs[decision.job.index()].standing;
    if (!standing.asked || standing.verdict != decision.verdict ||
        standing.reason.obstacle != decision.reason.obstacle ||
        standing.reason.binding != decision.reason.binding) {
      standing.since = plan.now;
    }
    standing.asked = true;
    standing.verdict = decision.verdict;
    standing.reason = decision.reason;
  }
  for (JobId id : plan.dropped) books_.jobs[id.index()].quarantined = true;
  if (!plan.dropped.empty()) ++books_.growth;  // what they would have taken is free for others
  if (!plan.decisions.empty()) ++books_.version;
}

void State::Expire(TimeMs now) {
  TEPHRA_CHECK_OP(living_snapshots_, ==, 0);
  while (!assumptions_.empty()) {
    const auto [at, id] = assumptions_.front();
    const TaskRow& task = books_.tasks[id.index()];
    const bool open = task.phase == TaskPhase::kAssumed && task.assumed_at == at;
    if (open && now - at < books_.config.assume_timeout_ms) break;
    assumptions_.pop_front();
    if (!open) continue;
    // A pod whose job went meanwhile asks for nothing more.
    const JobId job = task.job;
    SetPhase(id, job.valid() ? TaskPhase::kPending : TaskPhase::kFailed, NodeId(), {});
    if (job.valid()) MarkDue(job);
    ++books_.version;
  }
}

// --- tasks ---------------------------------------------------------------------------------

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
  const bool outlived = known != tasks_by_uid_.end() &&
                        !books_.tasks[known->second.index()].job.valid();
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
  books_.occupancy.Charge(books_.facts(), books_.classes[task.cls], QueueOf(task), task.node,
                          task.slices, sign);
}

void State::Seat(TaskId id) {
  TaskRow& task = books_.tasks[id.index()];
  if (!HoldsRoom(task.phase)) return;
  auto& here = tasks_on_[task.node.index()];
  task.place_on_node = static_cast<std::uint32_t>(here.size());
  here.push_back(id);
  if (books_.hardware.present(task.node)) ChargeTask(task, +1);
}

void State::Unseat(TaskId id) {
  const TaskRow& task = books_.tasks[id.index()];
  if (!HoldsRoom(task.phase)) return;
  if (books_.hardware.present(task.node)) ChargeTask(task, -1);
  auto& here = tasks_on_[task.node.index()];
  here[task.place_on_node] = here.back();
  books_.tasks[here.back().index()].place_on_node = task.place_on_node;
  here.pop_back();
}

// A running job's pod and the pending one: the role's counters.
void State::Count(const TaskRow& task, int sign) {
  if (!task.job.valid()) return;
  RoleRow& role = books_.jobs[task.job.index()].roles[task.role];
  if (task.phase == TaskPhase::kPending) role.pending += sign;
  if (CountsToMinimum(task.phase)) role.counted += sign;
}

void State::SetPhase(TaskId id, TaskPhase phase, NodeId node, Slices slices) {
  TaskRow& task = books_.tasks[id.index()];
  const bool seat_changes = HoldsRoom(phase) != HoldsRoom(task.phase) ||
                            (HoldsRoom(phase) && (node != task.node || slices != task.slices));
  const bool was_pending = task.phase == TaskPhase::kPending;
  Count(task, -1);
  if (seat_changes) {
    if (HoldsRoom(task.phase)) ++books_.growth;
    Unseat(id);
    task.phase = phase;
    task.node = node;
    task.slices = std::move(slices);
    Seat(id);
  } else {
    task.phase = phase;
  }
  Count(task, +1);
  if (task.job.valid() && was_pending != (phase == TaskPhase::kPending)) {
    if (!was_pending) {
      ChangeClass(task, books_.jobs[task.job.index()].roles[task.role].cls);
      MarkDue(task.job);
    }
    RefreshWaiting(task.job);
  }
}

// A task that asks anew asks for what its role says now. REQUIRES: it holds no room.
void State::ChangeClass(TaskRow& task, ClassId cls) {
  if (task.cls == cls) return;
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
        const auto taken = std::any_of(guess.begin(), guess.end(),
                                       [&](const Slice& s) { return s.device == d; });
        const bool whole = ask.request.whole();
        if (taken || (whole ? view.devices[d].users > 0
                            : view.devices[d].free_compute < ask.request.compute)) {
          continue;
        }
        guess.push_back({ask.container, static_cast<std::uint16_t>(d),
                         whole ? SliceMode::kWhole : SliceMode::kFraction, ask.request.compute,
                         whole ? view.spec.devices[d].memory_mib : ask.request.memory_mib});
        --missing;
      }
    }
  }
  return guess;
}

// --- jobs ----------------------------------------------------------------------------------

// Makes the role `replicas` tasks long. Pending tasks take the class; those that hold room keep
// the one they were started with, and live on without a job where the role no longer has them.
void State::ReshapeRole(JobId id, std::uint32_t r, std::int32_t replicas, ClassId cls) {
  std::vector<TaskId> tasks = std::move(books_.jobs[id.index()].roles[r].tasks);
  const auto wanted = static_cast<std::size_t>(replicas);
  for (std::size_t i = 0; i < std::min(wanted, tasks.size()); ++i) {
    TaskRow& task = books_.tasks[tasks[i].index()];
    if (task.phase == TaskPhase::kPending) ChangeClass(task, cls);
  }
  while (tasks.size() > wanted) {
    const TaskId gone = tasks.back();
    tasks.pop_back();
    TaskRow& task = books_.tasks[gone.index()];
    if (task.uid.empty() || !HoldsRoom(task.phase)) {
      DropTask(gone);
      continue;
    }
    if (books_.hardware.present(task.node)) ChargeTask(task, -1);
    Count(task, -1);
    task.job = JobId();
    if (books_.hardware.present(task.node)) ChargeTask(task, +1);
    ++books_.growth;
  }
  tasks.reserve(wanted);
  while (tasks.size() < wanted) {
    const TaskId fresh = NewTask();
    TaskRow& task = books_.tasks[fresh.index()];
    task.job = id;
    task.role = r;
    task.index = static_cast<std::int32_t>(tasks.size());
    task.cls = cls;
    books_.classes.Retain(cls);
    tasks.push_back(fresh);
    Count(task, +1);
  }
  books_.jobs[id.index()].roles[r].tasks = std::move(tasks);
}

void State::RefreshWaiting(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  const bool waits = job.pending() > 0;
  if (waits == (job.waiting_at != JobRow::kNotWaiting)) return;
  if (waits) {
    job.waiting_at = static_cast<std::uint32_t>(books_.waiting.size());
    books_.waiting.push_back(id);
    return;
  }
  const JobId last = books_.waiting.back();
  books_.waiting[job.waiting_at] = last;
  books_.jobs[last.index()].waiting_at = job.waiting_at;
  books_.waiting.pop_back();
  job.waiting_at = JobRow::kNotWaiting;
}

void State::MarkDue(JobId id) {
  JobRow& job = books_.jobs[id.index()];
  if (job.due) return;
  job.due = true;
  due_.push_back(id);
}

std::string State::CheckBooks() const {
  Occupancy fresh;
  fresh.Grow(books_.facts());
  for (std::size_t n = 0; n < books_.hardware.slots(); ++n) fresh.ResetNode(books_.facts(), NodeId(n));
  for (const TaskRow& task : books_.tasks) {
    if (!HoldsRoom(task.phase) || !books_.hardware.present(task.node)) continue;
    fresh.Charge(books_.facts(), books_.classes[task.cls], QueueOf(task), task.node, task.slices, +1);
  }
  if (!fresh.SameColumns(books_.occupancy)) return "occupancy differs from what the tasks hold";
  for (const JobRow& job : books_.jobs) {
    if (!job.live) continue;
    for (const RoleRow& role : job.roles) {
      std::int32_t pending = 0, counted = 0;
      for (TaskId id : role.tasks) {
        pending += books_.tasks[id.index()].phase == TaskPhase::kPending;
        counted += CountsToMinimum(books_.tasks[id.index()].phase);
      }
      if (pending != role.pending || counted != role.counted) {
        return "job \"" + job.name + "\" role \"" + role.name + "\": counters differ from its tasks";
      }
    }
    if ((job.pending() > 0) != (job.waiting_at != JobRow::kNotWaiting)) {
      return "job \"" + job.name + "\" is not where waiting jobs are listed";
    }
  }
  return "";
}

}  // namespace tephra
