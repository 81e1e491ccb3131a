// The workloads of the benchmarks, each a few events. Sizes are the peers' own
// (docs/benchmarks.md says whose).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plugins/registry.h"
#include "topology/base/check.h"

namespace tephra::bench {

inline void Must(const absl::Status& status) {
  if (!status.ok()) CheckFailed(__FILE_NAME__, __LINE__, status.ToString().c_str(), 0, 0);
}

struct Node {
  std::int64_t cpu = 96000;
  std::int64_t memory = std::int64_t{768} << 30;
  std::int64_t pods = 110;
  int gpus = 8;
};

inline NodeUpserted NodeEvent(int index, const Node& node) {
  NodeUpserted event;
  event.version = 1;
  char name[32];
  std::snprintf(name, sizeof name, "node-%06d", index);
  event.node.name = name;
  event.node.labels[kHostnameKey] = name;
  event.node.allocatable[kCpu] = node.cpu;
  event.node.allocatable[kMemory] = node.memory;
  event.node.allocatable[kPods] = node.pods;
  for (int d = 0; d < node.gpus; ++d) event.node.devices.push_back({"", "H100", 81920, true});
  return event;
}

struct Pod {
  std::int64_t cpu = 4000;
  std::int64_t memory = std::int64_t{16} << 30;
  int gpus = 1;
};

inline JobUpserted JobEvent(const std::string& name, int members, const Pod& pod) {
  JobUpserted event;
  event.version = 1;
  event.job.uid = event.job.name = name;
  event.job.queue = "team";
  event.job.gang.min_member = members;
  RoleSpec& role = event.job.gang.roles.emplace_back();
  role.name = "worker";
  role.replicas = role.min = members;
  ContainerSpec& container = role.pod.containers.emplace_back();
  container.requests[kCpu] = pod.cpu;
  container.requests[kMemory] = pod.memory;
  container.devices.count = pod.gpus;
  return event;
}

inline JobUpserted JobOf(const std::string& queue, const std::string& name, int members,
                         const Pod& pod) {
  JobUpserted event = JobEvent(name, members, pod);
  event.job.queue = queue;
  return event;
}

inline QueueUpserted QueueEvent(const std::string& name, std::int64_t gpus_deserved) {
  QueueUpserted event{{}, 1};
  event.queue.name = name;
  event.queue.deserved[kGpu] = 1000 * gpus_deserved;
  return event;
}

inline Engine Cluster(int nodes, const Node& node, EngineConfig config = {}) {
  Engine engine(DefaultAssembly());
  Must(engine.Apply(ConfigChanged{std::move(config)}));
  QueueUpserted queue;
  queue.queue.name = "team";
  Must(engine.Apply(queue));
  for (int i = 0; i < nodes; ++i) Must(engine.Apply(NodeEvent(i, node)));
  return engine;
}

inline std::vector<Event> Jobs(int count, int members, const Pod& pod) {
  std::vector<Event> events;
  for (int i = 0; i < count; ++i) {
    events.push_back(JobEvent("job-" + std::to_string(i), members, pod));
  }
  return events;
}

inline std::size_t Placed(const Plan& plan) {
  std::size_t placed = 0;
  for (const Decision& decision : plan.decisions) placed += decision.placements.size();
  return placed;
}

// What the world says once a plan is carried out.
inline void Confirm(Engine& engine, const Plan& plan) {
  std::vector<TaskUpserted> facts;
  const Books& books = engine.state().books();
  for (const Decision& decision : plan.decisions) {
    if (decision.verdict != Verdict::kStart) continue;
    for (const Placement& placement : decision.placements) {
      const TaskRow& task = books.tasks[placement.task.index()];
      const JobRow& job = books.jobs[task.job.index()];
      TaskUpserted& fact = facts.emplace_back();
      fact.version = 1;
      fact.task.job = job.uid;
      fact.task.role = job.roles[task.role].name;
      fact.task.index = task.index;
      fact.task.uid = job.uid + "/" + std::to_string(task.index);
      fact.task.phase = TaskPhase::kRunning;
      fact.task.node = books.hardware.spec(placement.node).name;
      fact.task.slices = placement.slices;
    }
  }
  for (const TaskUpserted& fact : facts) Must(engine.Apply(fact));
}

// The pods that the plan evicts have gone.
inline std::vector<Event> Departures(const Engine& engine, const Plan& plan) {
  std::vector<Event> events;
  for (const Decision& decision : plan.decisions) {
    for (const TaskId task : decision.evictions) {
      events.push_back(TaskRemoved{engine.state().books().tasks[task.index()].uid});
    }
  }
  return events;
}

}  // namespace tephra::bench
