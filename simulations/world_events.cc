// The events of the simulation: nodes, queues and jobs that change, and failures of nodes and
// tasks.
#include <algorithm>
#include <utility>

#include "simulations/world.h"

namespace tephra {
void World::Happen(const Happening& what, Batch& batch) {
  std::visit([&](const auto& one) { On(one, batch); }, what);
}

// The next random failure or repair of a node.
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
  down_.erase(what.node.name);  // replaced by another node of this name
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
      if (task.running && *task.node == name) Fail(record, task, batch);
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
  if (job == nullptr) return;  // not submitted yet, or ended
  // Running tasks that the job no longer has are ended.
  for (TaskRecord& task : job->tasks) {
    const std::string& role = job->roles()[task.role].name;
    const auto kept = std::find_if(
        what.job.gang.roles.begin(), what.job.gang.roles.end(),
        [&](const RoleSpec& one) { return one.name == role && task.index < one.replicas; });
    if (kept == what.job.gang.roles.end() && task.running) Lose(*job, task, batch);
  }
  JobSpec spec = what.job;
  Reshape(*job, shapes_.Of(spec));
  job->running = job->finished = 0;
  for (const TaskRecord& task : job->tasks) {
    job->running += task.running;
    job->finished += task.finish >= 0;
  }
  job->queue = texts_.Of(spec.queue);
  job->priority = what.job.priority;
  if (!what.whole) {
    spec.created = simulation_.origin + job->arrival;
    if (spec.estimated_runtime_ms == 0) spec.estimated_runtime_ms = job->run.value_or(0);
  }
  job->estimate = std::max<DurationMs>(spec.estimated_runtime_ms, 0);
  job->changed = spec;
  batch.events.emplace_back(JobUpserted{std::move(spec), Version()});
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
    if (job->roles()[task.role].name == what.role && task.index == what.index && task.running) {
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

void World::On(const OtherFact& what, Batch& batch) {
  Event& event = batch.events.emplace_back(what.event);
  std::visit(
      [&](auto& fact) {
        if constexpr (requires { fact.version; }) fact.version = Version();
      },
      event);
}

}  // namespace tephra
