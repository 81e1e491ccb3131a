#include "plugins/repair/repair.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/missing.h"
#include "plugins/repair/incomplete_gangs.h"

namespace tephra {
namespace {

// What a job holds on unhealthy devices.
struct Sick {
  std::vector<TaskId> tasks;                                  // sorted by node, each once
  std::set<std::pair<std::uint32_t, std::uint16_t>> devices;  // by the node's rank
};

class RepairPass {
 public:
  explicit RepairPass(Cycle& cycle) : cycle_(cycle), snapshot_(cycle.snapshot()) {}

  void Run() {
    const std::map<JobId, Sick> sick = FindSick();
    if (sick.empty()) return;
    // A job with a decision in this cycle is looked at in the next, which that decision brings
    // about.
    std::set<JobId> settled;
    for (const Decision& decision : cycle_.plan().decisions) {
      settled.insert(decision.job);
      for (const TaskId task : decision.evictions) settled.insert(snapshot_.task(task).job);
    }
    for (const auto& [job, held] : sick) {
      if (!settled.contains(job)) Evict(job, held);
    }
  }

 private:
  std::map<JobId, Sick> FindSick() const {
    std::map<JobId, Sick> sick;
    const Hardware& hardware = snapshot_.hardware();
    for (const NodeId node : hardware.ranked()) {
      const std::vector<DeviceHardware>& devices = hardware.spec(node).devices;
      const auto unhealthy = [](const DeviceHardware& device) { return !device.healthy; };
      if (std::none_of(devices.begin(), devices.end(), unhealthy)) continue;
      std::vector<TaskId> tasks = snapshot_.books().tasks_on[node.index()];
      std::sort(tasks.begin(), tasks.end());
      for (const TaskId id : tasks) {
        const TaskRow& task = snapshot_.task(id);
        if (task.phase != TaskPhase::kRunning || !task.job.valid()) continue;
        bool here = false;
        for (const Slice& slice : task.slices) {
          if (slice.device >= devices.size() || devices[slice.device].healthy) continue;
          here = true;
          sick[task.job].devices.emplace(hardware.rank(node), slice.device);
        }
        if (here) sick[task.job].tasks.push_back(id);
      }
    }
    return sick;
  }

  // Of one that is in the middle of something nothing is known for sure.
  bool Settled(const JobRow& job) const {
    for (const RoleRow& role : job.roles) {
      for (const TaskId id : role.tasks) {
        const TaskPhase phase = snapshot_.task(id).phase;
        if (phase == TaskPhase::kAssumed || phase == TaskPhase::kReleasing) return false;
      }
    }
    return !job.keeps_room() && !job.broken;
  }

  void Evict(JobId id, const Sick& sick) {
    const JobRow& job = snapshot_.job(id);
    if (!Settled(job)) return;
    const bool some = RunsWithout(snapshot_, id, sick.tasks);
    std::vector<TaskId> evicted = some ? sick.tasks : TasksIn(snapshot_, job, TaskPhase::kRunning);
    const bool all_may = std::all_of(evicted.begin(), evicted.end(),
                                     [&](TaskId task) { return snapshot_.task(task).preemptible; });
    if (!job.preemptible || !all_may) return;
    Reason reason;
    reason.obstacle = Obstacle::kUnhealthy;
    reason.sick_tasks = static_cast<std::int64_t>(sick.tasks.size());
    reason.sick_devices = static_cast<std::int64_t>(sick.devices.size());
    reason.best_node = snapshot_.hardware().spec(snapshot_.task(sick.tasks[0]).node).name;
    reason.evicted = static_cast<std::int64_t>(evicted.size());
    // One that runs on without them waits for nothing.
    const auto part = some ? tephra::Part::kElastic : tephra::Part::kMinimum;
    cycle_.Commit({id, part, Verdict::kUnwind, std::move(reason), {}, std::move(evicted), {}});
  }

  Cycle& cycle_;
  const Snapshot& snapshot_;
};

}  // namespace

void Repair::Run(Cycle& cycle) const {
  if (cycle.snapshot().config().evict_from_unhealthy) RepairPass(cycle).Run();
  EvictIncompleteGangs(cycle);
}

}  // namespace tephra
