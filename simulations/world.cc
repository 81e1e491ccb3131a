#include "simulations/world.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tephra {
namespace {

constexpr TimeMs kNever = std::numeric_limits<TimeMs>::max();
constexpr std::int32_t kMostAttempts = 100'000;  // starts of one task

}  // namespace

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
  // Node failures alone would never end.
  const std::optional<TimeMs> failure = failures_.Next();
  if (failure.has_value() && (next != kNever || failures_.repairs())) {
    next = std::min(next, *failure);
  }
  // Neither do such times end, if a job waits forever.
  const bool goes_on = next != kNever || simulation_.until.has_value();
  const auto wake = wakes_.upper_bound(now_);
  if (wake != wakes_.end() && goes_on) next = std::min(next, *wake);
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
  if (!simulation_.past.queues.empty()) batch.events.emplace_back(MemoryRestored{simulation_.past});
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
  JobRecord& record = Add(arrival);
  for (const TaskRun& one : arrival.task_runs) {
    const std::optional<std::size_t> task = IndexOf(record, one.role, one.index);
    if (task.has_value()) record.tasks[*task].run = one.run;
  }
  if (listener_ != nullptr) listener_->JobArrived(record);
  arrived_now_.push_back(record.number);
  batch.events.emplace_back(JobUpserted{std::move(arrival.job), Version()});
}

JobRecord& World::Add(Arrival& arrival) {
  auto added = std::make_unique<JobRecord>();
  JobRecord& record = *added;
  record.number = arrived_++;
  record.uid = arrival.job.uid;
  record.name = arrival.job.name;
  record.queue = texts_.Of(arrival.job.queue);
  record.user = texts_.Of(arrival.job.user);
  record.priority = arrival.job.priority;
  record.created = arrival.job.created;
  record.estimate = std::max<DurationMs>(arrival.job.estimated_runtime_ms, 0);
  record.arrival = arrival.at;
  record.run = arrival.run;
  if (arrival.job.checkpoint_interval_ms == 0 && simulation_.restarts.checkpoints.has_value()) {
    arrival.job.checkpoint_interval_ms =
        std::clamp<DurationMs>(*simulation_.restarts.checkpoints, 1, kMostRunMs);
  }
  record.fails_whole = arrival.fails_whole;
  record.stuck_for = arrival.stuck_for;
  Reshape(record, shapes_.Of(arrival.job));
  by_uid_.erase(record.uid);  // if another job has its uid, the last one is known by it
  by_uid_.insert(&record);
  jobs_[record.number] = std::move(added);
  return record;
}

TaskRecord* World::TaskOf(const Finish& finish) const {
  const auto found = jobs_.find(finish.job);
  if (found == jobs_.end()) return nullptr;
  std::vector<TaskRecord>& tasks = found->second->tasks;
  const auto is = [&](const TaskRecord& task) { return task.run_number == finish.run; };
  auto task = tasks.end();
  if (finish.task < tasks.size() && is(tasks[finish.task])) {
    task = tasks.begin() + finish.task;
  } else {
    task = std::find_if(tasks.begin(), tasks.end(), is);  // the job was reshaped, or the run ended
  }
  return task != tasks.end() && task->running ? &*task : nullptr;
}

void World::Follow(const Finish& finish, Batch& batch) {
  TaskRecord* of = TaskOf(finish);
  if (of == nullptr) return;
  JobRecord& job = *jobs_.at(finish.job);
  TaskRecord& task = *of;
  if (finish.end == End::kEvicted) return Lose(job, task, batch);
  if (finish.end == End::kFailed) return Fail(job, task, batch);
  batch.events.emplace_back(TaskUpserted{FactOf(job, task, TaskPhase::kSucceeded), Version()});
  task.running = false;
  task.finish = finish.at;
  --job.running;
  if (++job.finished == static_cast<std::int32_t>(job.tasks.size())) Close(job, batch);
}

// The job has ended: the engine drops it, and the listener is notified.
void World::Close(JobRecord& job, Batch& batch) {
  Refresh(job);
  job.end = now_;
  for (TaskRecord& task : job.tasks) {
    if (!task.running) continue;
    // The engine keeps running tasks until their pods are gone.
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

// The task fails by itself or with its node. With on_failure: gang the whole job restarts.
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
  const std::int64_t gpus = (job.gpu_demand() + kWholeGpu - 1) / kWholeGpu;
  const auto step = std::find_if(steps.begin(), steps.end(),
                                 [&](const DelayStep& one) { return gpus <= one.most_gpus; });
  return step == steps.end() ? 0 : step->delay;
}

// No task of it runs any more: the estimate of the next run is shorter by the saved work.
void World::SendRemainingTime(JobRecord& job, Batch& batch) {
  if (job.estimate == 0 || !job.run.has_value() || job.running > 0) return;
  DurationMs done = *job.run;
  for (const TaskRecord& task : job.tasks) {
    if (task.finish < 0) done = std::min(done, task.done);
  }
  JobSpec spec = SpecOf(job);
  spec.estimated_runtime_ms = std::max<DurationMs>(spec.estimated_runtime_ms - done, 1) +
                              DelayOf(job, simulation_.restarts.restart_delay);
  batch.events.emplace_back(JobUpserted{std::move(spec), Version()});
}

// The pod is created again, and the task is pending with its saved work.
void World::Lose(JobRecord& job, TaskRecord& task, Batch& batch) {
  TaskFact fact = FactOf(job, task, TaskPhase::kFailed);
  const std::string uid = fact.uid;
  batch.events.emplace_back(TaskUpserted{std::move(fact), Version()});
  batch.events.emplace_back(TaskRemoved{uid});
  const DurationMs worked = std::max<DurationMs>(now_ - task.works, 0);
  const DurationMs interval = job.checkpoint_interval();
  const DurationMs saved = interval == 0 ? 0 : worked - worked % interval;
  task.done += saved;
  job.lost_gpu_ms += (worked - saved) * job.roles()[task.role].gpu_each;
  task.running = false;
  --job.running;
  task.start = task.works = -1;
  task.node = {};
  task.slices.clear();
  task.pod = {};
  SendRemainingTime(job, batch);
}

std::optional<StartInterval> World::FirstIntervalOf(const JobRow& job) const {
  const StartInterval& known = job.first_interval;
  if (!known.known()) return std::nullopt;
  return StartInterval{known.low - simulation_.origin, known.high - simulation_.origin};
}

void World::Execute(const Plan& plan) {
  wakes_.erase(wakes_.begin(), wakes_.upper_bound(now_));
  const auto wake_at = [&](TimeMs at) { wakes_.insert(now_ + (at - plan.now)); };
  if (plan.ask_again_at > plan.now) wake_at(plan.ask_again_at);
  for (const auto& [job, at] : plan.evictions_from) wake_at(at);
  if (const TimeMs at = state_.NextPassed(); at > plan.now) wake_at(at);
  const Books& books = state_.books();
  for (const Decision& decision : plan.decisions) {
    JobRecord* job = FindJob(decision.job);
    if (job == nullptr) continue;
    if (job->start < 0) job->first_interval = FirstIntervalOf(books.jobs[decision.job.index()]);
    if (decision.part == Part::kMinimum) {
      job->asked = true;
      job->verdict = decision.verdict;
      job->reason = decision.reason;
    } else {
      job->elastic_reason = decision.reason;  // not set for a start
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
  if (++task.attempts > kMostAttempts && status_.ok()) {
    status_ = absl::ResourceExhaustedError(
        simulation_.file + ": job \"" + job.name + "\": its task " + TaskUid(job, task) +
        " was started " + std::to_string(kMostAttempts) +
        " times and has not finished; expected a longer failures.tasks.mtbf, or a "
        "restarts.checkpoint_interval that saves work between failures");
  }
  task.run_number = ++runs_;
  ++job.running;
  task.running = true;
  task.start = now_;
  task.works =
      now_ + DelayOf(job, task.attempts > 1 ? restarts.restart_delay : restarts.start_delay);
  task.node = texts_.Of(node);
  task.slices = slices;
  TaskFact fact = FactOf(job, task, TaskPhase::kRunning);
  fact.node = task.node;
  fact.slices = task.slices;
  follow_up_.emplace_back(TaskUpserted{std::move(fact), Version()});
  EndLater(job, index);
}

// Schedules the end or the failure of the task.
void World::EndLater(JobRecord& job, std::size_t index) {
  const TaskRecord& task = job.tasks[index];
  const bool ends = RunOf(job, task).has_value();
  const auto at_end = [&](TimeMs at, End end) {
    finishes_.push({at, sequence_++, job.number, static_cast<std::uint32_t>(index), task.run_number, end});
  };
  const std::optional<DurationMs> fails = failures_.TaskFailsAfter();
  if (fails.has_value() && (!ends || *fails < LeftOf(job, task))) {
    at_end(task.works + *fails, End::kFailed);
  } else if (ends) {
    at_end(task.works + LeftOf(job, task), End::kDone);
  }
}

// The pod terminates and is gone when its grace period is over.
void World::Evict(JobRecord& job, std::size_t index) {
  TaskRecord& task = job.tasks[index];
  ++task.evictions;
  if (job.evicted_at != now_) ++job.evictions;
  job.evicted_at = now_;
  if (simulation_.eviction_grace == 0 && job.stuck_for == 0) {
    Batch gone;
    Lose(job, task, gone);
    for (Event& event : gone.events) follow_up_.push_back(std::move(event));
    return;
  }
  TaskFact fact = FactOf(job, task, TaskPhase::kReleasing);
  fact.node = task.node;
  fact.slices = task.slices;
  fact.terminates_by = now_ + simulation_.eviction_grace;
  finishes_.push({fact.terminates_by + job.stuck_for, sequence_++, job.number, static_cast<std::uint32_t>(index),
                  task.run_number, End::kEvicted});
  follow_up_.emplace_back(TaskUpserted{std::move(fact), Version()});
}

void World::Refresh(JobRecord& job) const {
  const JobId id = state_.FindJob(job.uid);
  if (!id.valid() || state_.books().lines.AnswerOf(id) == nullptr) return;
  const Standing& standing = StandingOf(state_.books(), id);
  job.verdict = standing.verdict;
  job.reason = standing.reason;
}

std::size_t World::PlaceOf(const JobRecord& job, const TaskRow& row) const {
  const std::string& role = state_.books().jobs[row.job.index()].roles[row.role].name;
  return *IndexOf(job, role, row.index);
}

JobRecord* World::FindJob(const std::string& uid) {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : *found;
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
  for (const auto& [number, job] : jobs_) {
    Refresh(*job);
    all.push_back(job.get());
  }
  std::sort(all.begin(), all.end(),
            [](const JobRecord* a, const JobRecord* b) { return a->number < b->number; });
  return all;
}

}  // namespace tephra
