// JobRecord: a job in the simulated cluster, and the facts that the engine gets for its tasks.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "simulations/traces/pod_shapes.h"
#include "simulations/world.h"

namespace tephra {

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
  if (arrival.job.estimated_runtime_ms > 0) record->spec = std::make_shared<JobSpec>(arrival.job);
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

}  // namespace tephra
