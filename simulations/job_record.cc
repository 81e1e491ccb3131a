// JobRecord: a job in the simulated cluster, and the facts that the engine gets for its tasks.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "simulations/world.h"

namespace tephra {

void Reshape(JobRecord& record, Boxed<JobShape> shape) {
  std::vector<TaskRecord> before = std::move(record.tasks);
  const Boxed<JobShape> shape_before = std::exchange(record.shape, std::move(shape));
  const std::vector<JobShape::Role>& roles_before = shape_before->roles;
  record.tasks.clear();
  const auto tasks = [](const JobShape::Role& role) {
    return role.first_task + static_cast<std::size_t>(role.replicas);
  };
  if (!record.roles().empty()) record.tasks.reserve(tasks(record.roles().back()));
  for (std::uint32_t index = 0; index < record.roles().size(); ++index) {
    const JobShape::Role& role = record.roles()[index];
    const auto old =
        std::find_if(roles_before.begin(), roles_before.end(),
                     [&](const JobShape::Role& one) { return one.name == role.name; });
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

JobSpec SpecOf(const JobRecord& job) {
  if (!job.changed.is_default()) return job.changed;
  JobSpec spec = job.shape->spec;
  spec.uid = job.uid;
  spec.name = job.name;
  spec.queue = job.queue;
  spec.user = job.user;
  spec.created = job.created;
  spec.estimated_runtime_ms = job.estimate;
  return spec;
}

TaskFact FactOf(const JobRecord& job, const TaskRecord& task, TaskPhase phase) {
  TaskFact fact;
  fact.uid = TaskUid(job, task);
  fact.job = job.uid;
  fact.role = job.roles()[task.role].name;
  fact.index = task.index;
  fact.phase = phase;
  return fact;
}

std::optional<std::size_t> IndexOf(const JobRecord& job, const std::string& role,
                                   std::int32_t index) {
  for (const JobShape::Role& one : job.roles()) {
    if (one.name == role && index < one.replicas) {
      return one.first_task + static_cast<std::size_t>(index);
    }
  }
  return std::nullopt;
}

std::string TaskUid(const JobRecord& job, const TaskRecord& task) {
  if (!task.pod.is_default()) return task.pod;
  std::string uid = job.uid;
  uid.append("/").append(job.roles()[task.role].name).append("/").append(std::to_string(task.index));
  if (task.attempts > 1) uid.append("#").append(std::to_string(task.attempts));
  return uid;
}

}  // namespace tephra
