// World: starting with the jobs of an earlier run.
#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "simulations/world.h"

namespace tephra {

void World::TakeOver() {
  Handover& from = *simulation_.handover;
  now_ = from.at;
  begun_ = !from.due;
  version_ = from.version;
  for (NodeSpec& node : simulation_.nodes) {
    failures_.Follow(node.name, now_);
    std::string name = node.name;
    nodes_[std::move(name)] = std::move(node);
  }
  for (QueueSpec& queue : simulation_.queues) {
    std::string name = queue.name;
    queues_[std::move(name)] = std::move(queue);
  }
  for (HandedJob& job : from.jobs) Take(job);
  // Tasks that end at the same time end in the order of their starts.
  struct Running {
    TimeMs start;
    std::uint64_t turn, job;
    const HandedTask* task;
  };
  std::vector<Running> running;
  for (std::size_t number = 0; number < from.jobs.size(); ++number) {
    for (const HandedTask& task : from.jobs[number].tasks) {
      running.push_back({task.start, task.turn, number, &task});
    }
  }
  std::stable_sort(running.begin(), running.end(), [](const Running& a, const Running& b) {
    return std::tie(a.start, a.turn) < std::tie(b.start, b.turn);
  });
  for (const Running& one : running) {
    JobRecord& job = *jobs_.at(one.job);
    const std::optional<std::size_t> index = IndexOf(job, one.task->role, one.task->index);
    if (index.has_value()) Take(job, *index, *one.task);
  }
  from.jobs.clear();
}

// A cycle needs an event or CycleDue. The end of an attempt that no longer exists is not an event:
// an earlier world may not have known when it would have ended.
void World::PassOver() {
  while (!finishes_.empty() && TaskOf(finishes_.top()) == nullptr) finishes_.pop();
}

void World::Take(HandedJob& handed) {
  JobRecord* const record = &Add(handed.came);
  record->start = handed.start;
  const JobId id = state_.FindJob(record->uid);
  const Standing& standing = state_.books().jobs[id.index()].standing;
  record->asked = standing.asked;
  record->verdict = standing.verdict;
  record->reason = standing.reason;
  record->first_interval = FirstIntervalOf(state_.books().jobs[id.index()]);
  if (state_.books().jobs[id.index()].satisfied()) record->verdict = Verdict::kStart;
  if (listener_ != nullptr) listener_->JobArrived(*record);
  if (handed.tell) {
    follow_up_.emplace_back(JobUpserted{std::move(handed.came.job), Version()});
  }
}

void World::Take(JobRecord& job, std::size_t index, const HandedTask& handed) {
  TaskRecord& task = job.tasks[index];
  task.pod = texts_.Of(handed.pod);
  task.run = handed.run;
  task.done = handed.done;
  task.attempts = handed.attempts;
  switch (handed.phase) {
    case TaskPhase::kSucceeded:
      task.start = task.works = handed.start;
      task.finish = now_;
      ++job.finished;
      // Without this fact the engine would run the task again.
      if (handed.pod.empty()) {
        follow_up_.emplace_back(TaskUpserted{FactOf(job, task, TaskPhase::kSucceeded), Version()});
      }
      return;
    case TaskPhase::kAssumed:
      if (job.start < 0) job.start = now_;
      return Start(job, index, handed.node, handed.slices);
    case TaskPhase::kRunning:
    case TaskPhase::kReleasing:
      break;
    default:
      return;
  }
  task.node = texts_.Of(handed.node);
  task.slices = handed.slices;
  task.start = task.works = handed.start;
  task.running = true;
  task.run_number = ++runs_;
  ++job.running;
  EndLater(job, index);
  if (handed.to_go) Evict(job, index);
  if (handed.phase == TaskPhase::kRunning) return;
  finishes_.push({std::max(handed.leaves, now_), sequence_++, job.number,
                  static_cast<std::uint32_t>(index), task.run_number, End::kEvicted});
}

}  // namespace tephra
