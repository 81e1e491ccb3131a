#include "simulations/world.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "simulations/traces/pod_shapes.h"

namespace tephra {
namespace {

constexpr TimeMs kNever = std::numeric_limits<TimeMs>::max();

// Makes the record's roles and tasks those of the job; tasks that it had keep what they did.
void Reshape(JobRecord& record, const JobSpec& job) {
  std::vector<TaskRecord> before = std::move(record.tasks);
  const std::vector<JobRecord::Role> roles_before = std::move(record.roles);
  record.tasks.clear();
  record.roles.clear();
  record.gpu_demand = 0;
  for (const RoleSpec& role : job.gang.roles) {
    const auto index = static_cast<std::uint32_t>(record.roles.size());
    record.roles.push_back({role.name, GpuDemand(role.pod), GpuMemoryDemand(role.pod),
                            record.tasks.size(), role.replicas});
    record.gpu_demand += record.roles.back().gpu_each * role.replicas;
    const auto old =
        std::find_if(roles_before.begin(), roles_before.end(),
                     [&](const JobRecord::Role& one) { return one.name == role.name; });
    for (std::int32_t i = 0; i < role.replicas; ++i) {
      TaskRecord& task = record.tasks.emplace_back();
      if (old != roles_before.end() && i < old->replicas) {
        task = std::move(before[old->first_task + static_cast<std::size_t>(i)]);
      }
      task.role = index;
      task.index = i;
    }
  }
}

}  // namespace

TaskFact FactOf(const JobRecord& job, const TaskRecord& task, TaskPhase phase) {
  TaskFact fact;
  fact.uid = TaskUid(job, task);
  fact.job = job.uid;
  fact.role = job.roles[task.role].name;
  fact.index = task.index;
  fact.phase = phase;
  return fact;
}

std::optional<std::size_t> IndexOf(const JobRecord& job, const std::string& role,
                                   std::int32_t index) {
  for (const JobRecord::Role& one : job.roles) {
    if (one.name == role && index < one.replicas) {
      return one.first_task + static_cast<std::size_t>(index);
    }
  }
  return std::nullopt;
}

std::unique_ptr<JobRecord> RecordOf(const Arrival& arrival, std::uint64_t number) {
  auto record = std::make_unique<JobRecord>();
  record->number = number;
  record->uid = arrival.job.uid;
  record->name = arrival.job.name;
  record->queue = arrival.job.queue;
  record->priority = arrival.job.priority;
  record->user = arrival.job.user;
  record->arrival = arrival.at;
  record->run = arrival.run;
  record->fails_whole = arrival.fails_whole;
  if (arrival.job.expected_run_ms > 0) record->spec = std::make_shared<JobSpec>(arrival.job);
  Reshape(*record, arrival.job);
  return record;
}

std::string TaskUid(const JobRecord& job, const TaskRecord& task) {
  if (!task.pod.empty()) return task.pod;
  std::string uid = job.uid;
  uid.append("/").append(job.roles[task.role].name).append("/").append(std::to_string(task.index));
  if (task.attempts > 1) uid.append("#").append(std::to_string(task.attempts));
  return uid;
}

World::World(Simulation simulation, std::unique_ptr<Arrivals> arrivals, const State& state,
             WorldListener* listener)
    : simulation_(std::move(simulation)),
      arrivals_(std::move(arrivals)),
      state_(state),
      listener_(listener),
      failures_(simulation_.failures) {
  if (simulation_.handover.has_value()) TakeOver();
  Fetch();
}

void World::Fetch() {
  if (!next_arrival_.has_value()) next_arrival_.emplace();
  const absl::StatusOr<bool> more = arrivals_->Next(*next_arrival_);
  if (!more.ok()) status_ = more.status();
  if (!more.ok() || !*more) next_arrival_.reset();
}

TimeMs World::NextTime() const {
  if (!begun_) return simulation_.handover.has_value() ? now_ : 0;
  if (!follow_up_.empty()) return now_;
  TimeMs next = kNever;
  if (next_arrival_.has_value()) next = std::min(next, next_arrival_->at);
  if (!finishes_.empty()) next = std::min(next, finishes_.top().at);
  if (next_event_ < simulation_.events.size()) {
    next = std::min(next, simulation_.events[next_event_].at);
  }
  // By themselves nodes would fail for ever.
  const std::optional<TimeMs> failure = failures_.Next();
  if (failure.has_value() && (next != kNever || failures_.repairs())) {
    next = std::min(next, *failure);
  }
  return next;
}

std::optional<Batch> World::Next() {
  if (simulation_.handover.has_value()) PassOver();
  const TimeMs time = NextTime();
  if (!status_.ok()) return std::nullopt;
  if (time > simulation_.until.value_or(kNever - 1)) {
    now_ = simulation_.until.value_or(now_);
    return std::nullopt;
  }
  Batch batch;
  batch.time = now_ = time;
  arrived_now_.clear();
  if (!follow_up_.empty()) {
    batch.events = std::move(follow_up_);
    follow_up_ = std::exchange(spare_, {});
    return batch;
  }
  batch.events = std::exchange(spare_, {});
  if (!begun_) Begin(batch);
  while (!finishes_.empty() && finishes_.top().at == time) {
    const Finish finish = finishes_.top();
    finishes_.pop();
    Follow(finish, batch);
  }
  while (failures_.Next() == time) NodeFails(batch);
  while (next_event_ < simulation_.events.size() && simulation_.events[next_event_].at == time) {
    Happen(simulation_.events[next_event_++].what, batch);
  }
  while (next_arrival_.has_value() && next_arrival_->at == time) {
    Arrive(batch);
    Fetch();
  }
  return batch;
}

void World::Begin(Batch& batch) {
  begun_ = true;
  if (simulation_.handover.has_value()) return;
  if (!simulation_.extended_kinds.empty()) {
    batch.events.emplace_back(KindsDeclared{simulation_.extended_kinds});
  }
  batch.events.emplace_back(ConfigChanged{simulation_.config});
  for (QueueSpec& queue : simulation_.queues) On(QueueChanges{std::move(queue)}, batch);
  for (NodeSpec& node : simulation_.nodes) On(NodeComes{std::move(node)}, batch);
  if (!simulation_.past.queues.empty()) batch.events.emplace_back(MemoryTold{simulation_.past});
  simulation_.queues.clear();
  simulation_.nodes.clear();
  for (DomainSpec& domain : simulation_.domains) {
    batch.events.emplace_back(DomainUpserted{std::move(domain), Version()});
  }
  simulation_.domains.clear();
}

void World::Arrive(Batch& batch) {
  Arrival& arrival = *next_arrival_;
  if (simulation_.queues_of_jobs && !queues_.contains(arrival.job.queue)) {
    QueueSpec queue;
    queue.name = arrival.job.queue;
    queue.dequeue = simulation_.dequeue;
    On(QueueChanges{std::move(queue)}, batch);
  }
  auto record = RecordOf(arrival, arrived_++);
  for (const TaskRun& one : arrival.task_runs) {
    const std::optional<std::size_t> task = IndexOf(*record, one.role, one.index);
    if (task.has_value()) record->tasks[*task].run = one.run;
  }
  if (listener_ != nullptr) listener_->JobArrived(*record);
  arrived_now_.push_back(record->number);
  by_uid_[record->uid] = record.get();
  jobs_[record->number] = std::move(record);
  batch.events.emplace_back(JobUpserted{std::move(arrival.job), Version()});
}

bool World::IsStale(const Finish& finish) const {
  const auto found = jobs_.find(finish.job);
  if (found == jobs_.end() || finish.task >= found->second->tasks.size()) return true;
  const JobRecord& job = *found->second;
  const TaskRecord& task = job.tasks[finish.task];
  if (!task.running || task.attempts != finish.attempt) return true;  // it failed or was lost
  // Another task may stand there now.
  return finish.end == End::kDone && task.works + LeftOf(job, task) > finish.at;
}

void World::Follow(const Finish& finish, Batch& batch) {
  const auto found = jobs_.find(finish.job);
  if (IsStale(finish)) return;
  JobRecord& job = *found->second;
  TaskRecord& task = job.tasks[finish.task];
  if (finish.end == End::kEvicted) return Lose(job, task, batch);
  if (finish.end == End::kFailed) return Fail(job, task, batch);
  batch.events.emplace_back(TaskUpserted{FactOf(job, task, TaskPhase::kSucceeded), Version()});
  task.running = false;
  task.finish = finish.at;
  --job.running;
  if (++job.finished == static_cast<std::int32_t>(job.tasks.size())) Close(job, batch);
}

// The job is over: the engine forgets it, and the listener hears how it went.
void World::Close(JobRecord& job, Batch& batch) {
  job.end = now_;
  for (TaskRecord& task : job.tasks) {
    if (!task.running) continue;
    // The engine keeps what runs until its pod is gone.
    batch.events.emplace_back(TaskUpserted{FactOf(job, task, TaskPhase::kFailed), Version()});
    task.running = false;
    task.finish = now_;
    --job.running;
  }
  batch.events.emplace_back(JobRemoved{job.uid});
  if (listener_ != nullptr) listener_->JobEnded(job);
  by_uid_.erase(job.uid);
  if (job.id.valid()) by_id_[job.id.index()] = nullptr;
  jobs_.erase(job.number);
}

// By itself or with its node; the rest of the job starts anew with it where that is what it does.
void World::Fail(JobRecord& job, TaskRecord& task, Batch& batch) {
  if (job.failed_at != now_) ++job.failures;
  job.failed_at = now_;
  Lose(job, task, batch);
  if (!job.fails_whole) return;
  for (TaskRecord& other : job.tasks) {
    if (other.running) Lose(job, other, batch);
  }
}

DurationMs World::DelayOf(const JobRecord& job, const std::vector<DelayStep>& steps) const {
  const std::int64_t gpus = (job.gpu_demand + kWholeGpu - 1) / kWholeGpu;
  const auto step = std::find_if(steps.begin(), steps.end(),
                                 [&](const DelayStep& one) { return gpus <= one.most_gpus; });
  return step == steps.end() ? 0 : step->delay;
}

// All that ran of it is gone: what it is expected to run, when it runs again, is less.
void World::TellLeft(JobRecord& job, Batch& batch) {
  if (job.spec == nullptr || !job.run.has_value() || job.running > 0) return;
  DurationMs done = *job.run;
  for (const TaskRecord& task : job.tasks) {
    if (task.finish < 0) done = std::min(done, task.done);
  }
  JobSpec spec = *job.spec;
  spec.expected_run_ms = std::max<DurationMs>(spec.expected_run_ms - done, 1) +
                         DelayOf(job, simulation_.restarts.restart_delay);
  batch.events.emplace_back(JobUpserted{std::move(spec), Version()});
}

// The task's pod is gone and is made anew: its job asks for it again, with what work was saved.
void World::Lose(JobRecord& job, TaskRecord& task, Batch& batch) {
  TaskFact fact = FactOf(job, task, TaskPhase::kFailed);
  const std::string uid = fact.uid;
  batch.events.emplace_back(TaskUpserted{std::move(fact), Version()});
  batch.events.emplace_back(TaskRemoved{uid});
  const DurationMs worked = std::max<DurationMs>(now_ - task.works, 0);
  const std::optional<DurationMs> each = simulation_.restarts.checkpoints;
  const DurationMs saved = !each.has_value() ? 0 : *each == 0 ? worked : worked - worked % *each;
  task.done += saved;
  job.lost_gpu_ms += (worked - saved) * job.roles[task.role].gpu_each;
  task.running = false;
  --job.running;
  task.start = task.works = -1;
  task.node.clear();
  task.slices.clear();
  task.pod.clear();
  TellLeft(job, batch);
}

void World::Execute(const Plan& plan) {
  const Books& books = state_.books();
  for (const Decision& decision : plan.decisions) {
    JobRecord* job = FindJob(decision.job);
    if (job == nullptr) continue;
    if (decision.part == Part::kMinimum) {
      job->asked = true;
      job->verdict = decision.verdict;
      job->reason = decision.reason;
    } else {
      job->elastic_reason = decision.reason;  // a start has none
    }
    for (const TaskId task : decision.evictions) {
      const TaskRow& row = books.tasks[task.index()];
      JobRecord* victim = FindJob(row.job);
      Evict(*victim, PlaceOf(*victim, row));
    }
    if (decision.verdict == Verdict::kStartAfterEviction) continue;
    if (!decision.placements.empty()) {
      if (job->start >= 0 && job->running == 0) ++job->restarts;
      if (job->start < 0) job->start = now_;
    }
    for (const Placement& placement : decision.placements) {
      Start(*job, PlaceOf(*job, books.tasks[placement.task.index()]),
            books.hardware.spec(placement.node).name, placement.slices);
    }
  }
  if (simulation_.unstarted == Unstarted::kWaits) return;
  Batch gone;
  for (std::uint64_t number : arrived_now_) {
    const auto found = jobs_.find(number);
    if (found == jobs_.end() || found->second->start >= 0) continue;
    found->second->dropped = true;
    Close(*found->second, gone);
  }
  for (Event& event : gone.events) follow_up_.push_back(std::move(event));
}

void World::Start(JobRecord& job, std::size_t index, const std::string& node,
                  const Slices& slices) {
  TaskRecord& task = job.tasks[index];
  const Restarts& restarts = simulation_.restarts;
  ++task.attempts;
  ++job.running;
  task.running = true;
  task.start = now_;
  task.works =
      now_ + DelayOf(job, task.attempts > 1 ? restarts.restart_delay : restarts.start_delay);
  task.node = node;
  task.slices = slices;
  TaskFact fact = FactOf(job, task, TaskPhase::kRunning);
  fact.node = task.node;
  fact.slices = task.slices;
  follow_up_.emplace_back(TaskUpserted{std::move(fact), Version()});
  EndLater(job, index);
}

// The task works: when that will be over.
void World::EndLater(JobRecord& job, std::size_t index) {
  const TaskRecord& task = job.tasks[index];
  const bool ends = RunOf(job, task).has_value();
  const auto at_end = [&](TimeMs at, End end) {
    finishes_.push(
        {at, sequence_++, job.number, static_cast<std::uint32_t>(index), task.attempts, end});
  };
  const std::optional<DurationMs> fails = failures_.TaskFailsAfter();
  if (fails.has_value() && (!ends || *fails < LeftOf(job, task))) {
    at_end(task.works + *fails, End::kFailed);
  } else if (ends) {
    at_end(task.works + LeftOf(job, task), End::kDone);
  }
}

// Its pod is told to go, and goes when its grace is over.
void World::Evict(JobRecord& job, std::size_t index) {
  TaskRecord& task = job.tasks[index];
  ++task.evictions;
  if (job.evicted_at != now_) ++job.evictions;
  job.evicted_at = now_;
  if (simulation_.eviction_grace == 0) {
    Batch gone;
    Lose(job, task, gone);
    for (Event& event : gone.events) follow_up_.push_back(std::move(event));
    return;
  }
  TaskFact fact = FactOf(job, task, TaskPhase::kReleasing);
  fact.node = task.node;
  fact.slices = task.slices;
  follow_up_.emplace_back(TaskUpserted{std::move(fact), Version()});
  finishes_.push({now_ + simulation_.eviction_grace, sequence_++, job.number,
                  static_cast<std::uint32_t>(index), task.attempts, End::kEvicted});
}

std::size_t World::PlaceOf(const JobRecord& job, const TaskRow& row) const {
  const std::string& role = state_.books().jobs[row.job.index()].roles[row.role].name;
  return *IndexOf(job, role, row.index);
}

JobRecord* World::FindJob(const std::string& uid) {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : found->second;
}

JobRecord* World::FindJob(JobId id) {
  if (by_id_.size() <= id.index()) by_id_.resize(state_.books().jobs.size());
  JobRecord*& known = by_id_[id.index()];
  if (known == nullptr) {
    known = FindJob(state_.books().jobs[id.index()].uid);
    if (known != nullptr) known->id = id;
  }
  return known;
}

std::vector<const JobRecord*> World::Jobs() const {
  std::vector<const JobRecord*> all;
  for (const auto& [number, job] : jobs_) all.push_back(job.get());
  std::sort(all.begin(), all.end(),
            [](const JobRecord* a, const JobRecord* b) { return a->number < b->number; });
  return all;
}

// --- what happens by itself ------------------------------------------------------------------

void World::Happen(const Happening& what, Batch& batch) {
  std::visit([&](const auto& one) { On(one, batch); }, what);
}

// The next node that fails by chance, or is back.
void World::NodeFails(Batch& batch) {
  const Failures::Change change = failures_.Pop();
  if (!change.fails) {
    const auto found = down_.find(change.node);
    if (found == down_.end()) return;
    const NodeComes back{std::move(found->second)};
    down_.erase(found);
    On(back, batch);
  } else if (const auto found = nodes_.find(change.node); found != nodes_.end()) {
    down_[change.node] = found->second;
    LoseNode(change.node, batch);
  }
}

void World::On(const NodeComes& what, Batch& batch) {
  failures_.Follow(what.node.name, now_);
  down_.erase(what.node.name);  // another of that name
  nodes_[what.node.name] = what.node;
  batch.events.emplace_back(NodeUpserted{what.node, Version()});
}

void World::On(const NodeGoes& what, Batch& batch) {
  down_.erase(what.name);
  LoseNode(what.name, batch);
}

void World::LoseNode(const std::string& name, Batch& batch) {
  if (nodes_.erase(name) == 0) return;
  batch.events.emplace_back(NodeRemoved{name});
  for (const JobRecord* job : Jobs()) {
    JobRecord& record = *jobs_.at(job->number);
    for (TaskRecord& task : record.tasks) {
      if (task.running && task.node == name) Fail(record, task, batch);
    }
  }
}

void World::On(const NodeCordoned& what, Batch& batch) {
  const auto found = nodes_.find(what.name);
  if (found == nodes_.end()) return;
  found->second.unschedulable = what.unschedulable;
  batch.events.emplace_back(NodeUpserted{found->second, Version()});
}

void World::On(const QueueChanges& what, Batch& batch) {
  queues_[what.queue.name] = what.queue;
  batch.events.emplace_back(QueueUpserted{what.queue, Version()});
}

void World::On(const QueueStateChanges& what, Batch& batch) {
  const auto found = queues_.find(what.name);
  if (found == queues_.end()) return;
  found->second.state = what.state;
  batch.events.emplace_back(QueueUpserted{found->second, Version()});
}

void World::On(const QueueGoes& what, Batch& batch) {
  queues_.erase(what.name);
  batch.events.emplace_back(QueueRemoved{what.name});
}

void World::On(const JobChanges& what, Batch& batch) {
  JobRecord* job = FindJob(what.job.uid);
  if (job == nullptr) return;  // it has not come yet, or is over
  // Running tasks that the job no longer has are ended, not left behind.
  for (TaskRecord& task : job->tasks) {
    const std::string& role = job->roles[task.role].name;
    const auto kept = std::find_if(
        what.job.gang.roles.begin(), what.job.gang.roles.end(),
        [&](const RoleSpec& one) { return one.name == role && task.index < one.replicas; });
    if (kept == what.job.gang.roles.end() && task.running) Lose(*job, task, batch);
  }
  Reshape(*job, what.job);
  job->running = job->finished = 0;
  for (const TaskRecord& task : job->tasks) {
    job->running += task.running;
    job->finished += task.finish >= 0;
  }
  job->queue = what.job.queue;
  job->priority = what.job.priority;
  JobSpec spec = what.job;
  if (!what.whole) {
    spec.created = simulation_.origin + job->arrival;
    if (spec.expected_run_ms == 0) spec.expected_run_ms = job->run.value_or(0);
  }
  job->spec = spec.expected_run_ms > 0 ? std::make_shared<JobSpec>(spec) : nullptr;
  batch.events.emplace_back(JobUpserted{std::move(spec), Version()});
  // Finishes name tasks by index, which may have moved.
  for (std::size_t index = 0; index < job->tasks.size(); ++index) {
    const TaskRecord& task = job->tasks[index];
    if (!task.running || !RunOf(*job, task).has_value()) continue;
    finishes_.push({std::max(now_, task.works + LeftOf(*job, task)), sequence_++, job->number,
                    static_cast<std::uint32_t>(index), task.attempts});
  }
}

void World::On(const JobGoes& what, Batch& batch) {
  JobRecord* job = FindJob(what.name);
  if (job == nullptr) return;
  job->removed = true;
  Close(*job, batch);
}

void World::On(const TaskFails& what, Batch& batch) {
  JobRecord* job = FindJob(what.job);
  if (job == nullptr) return;
  for (TaskRecord& task : job->tasks) {
    if (job->roles[task.role].name == what.role && task.index == what.index && task.running) {
      Fail(*job, task, batch);
    }
  }
}

void World::On(const Refused& what, Batch& batch) { batch.events.emplace_back(what.refusal); }

void World::On(const ForeignPodRuns& what, Batch& batch) {
  batch.events.emplace_back(TaskUpserted{what.task, Version()});
}

void World::On(const ForeignPodEnds& what, Batch& batch) {
  batch.events.emplace_back(TaskRemoved{what.uid});
}

void World::On(const PoliciesChange& what, Batch& batch) {
  batch.events.emplace_back(ConfigChanged{what.config});
}

void World::On(const Told& what, Batch& batch) {
  Event& event = batch.events.emplace_back(what.event);
  std::visit(
      [&](auto& fact) {
        if constexpr (requires { fact.version; }) fact.version = Version();
      },
      event);
}

}  // namespace tephra
