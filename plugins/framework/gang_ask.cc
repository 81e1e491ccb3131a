#include "plugins/framework/gang_ask.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "topology/base/hash.h"

namespace tephra {

Resources LeastDemand(const Snapshot& snapshot, const GangAsk& ask) {
  Resources demand;
  std::int32_t open = ask.least;
  for (const RoleAsk& role : ask.roles) {
    demand.Add(snapshot.cls(role.cls).demand, role.least);
    open -= role.least;
  }
  if (open == 0) return demand;
  std::vector<std::pair<std::int64_t, std::int32_t>> offers;  // demand of a task, tasks
  for (Kind k = 0; k < kMaxKinds; ++k) {
    offers.clear();
    for (const RoleAsk& role : ask.roles) {
      offers.emplace_back(snapshot.cls(role.cls).demand[k],
                          static_cast<std::int32_t>(role.tasks.size()) - role.least);
    }
    std::sort(offers.begin(), offers.end());
    std::int32_t left = open;
    for (const auto& [amount, tasks] : offers) {
      demand[k] += amount * std::min(left, tasks);
      left -= std::min(left, tasks);
    }
  }
  return demand;
}

Resources LeastMissing(const Snapshot& snapshot, const JobRow& job) {
  Resources least;
  std::int32_t open = job.min_member - job.counted();
  const RoleRow* spare = nullptr;
  for (const RoleRow& role : job.roles) {
    const std::int32_t missing = std::max(0, role.min - role.counted);
    if (missing > 0) least.Add(snapshot.cls(role.cls).demand, missing);
    open -= missing;
    if (spare == nullptr && role.pending + role.held > missing) spare = &role;
  }
  if (open > 0 && spare != nullptr) least.Add(snapshot.cls(spare->cls).demand, open);
  return least;
}

void Locate(const Snapshot& snapshot, const std::vector<Placement>& placed, GangAsk& ask) {
  const Hardware& hardware = snapshot.hardware();
  const JobRow& job = snapshot.job(ask.job);
  switch (job.locality.mode) {
    case Locality::Mode::kUnsaid:
      // What starts with one task is no gang, and its tasks need not know each other.
      ask.near = snapshot.config().gang_locality == GangLocality::kNear && job.min_member > 1;
      break;
    case Locality::Mode::kPreferred:
      ask.near = true;
      break;
    case Locality::Mode::kRequired:
      ask.near = true;
      ask.highest_tier = job.locality.highest_tier_name.empty()
                             ? job.locality.highest_tier
                             : hardware.fabric().TierNamed(job.locality.highest_tier_name);
      break;
  }
  if (!ask.near || (!ask.tied() && hardware.fabric().empty())) return;
  const auto add = [&](NodeId node) {
    if (!node.valid() || !hardware.present(node)) return;
    const std::uint32_t rank = hardware.rank(node);
    ask.around = RankSpan::Around(ask.around, {rank, rank + 1});
  };
  for (const Placement& placement : placed) add(placement.node);
  if (job.counted() == 0) return;
  for (const RoleRow& role : job.roles) {
    for (const TaskId id : role.tasks) {
      const TaskRow& task = snapshot.task(id);
      if (task.phase == TaskPhase::kAssumed || task.phase == TaskPhase::kRunning) add(task.node);
    }
  }
  // Those that run are in no such domain any more: the rest would never be either.
  const std::vector<std::uint32_t> held_in = hardware.fabric().Around(ask.around);
  const bool apart =
      held_in.empty() || hardware.fabric().domains()[held_in.front()].tier > ask.highest_tier;
  if (!ask.around.empty() && apart) ask.highest_tier = kAnyTier;
}

std::vector<std::size_t> HardestFirst(const Snapshot& snapshot, const GangAsk& ask) {
  std::vector<std::size_t> order(ask.roles.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() == 1) return order;
  const auto hardness = [&](std::size_t r) {
    const TaskClass& cls = snapshot.cls(ask.roles[r].cls);
    return std::make_tuple(cls.whole_gpus, cls.demand[kGpu], cls.demand[kGpuMemory],
                           cls.demand[kCpu], cls.demand[kMemory]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return hardness(a) > hardness(b); });
  return order;
}

std::uint64_t DrawOf(const Snapshot& snapshot, const GangAsk& ask, const RoleAsk& role,
                     std::int32_t nth) {
  const std::uint64_t seed = Mix(snapshot.config().seed, HashOf(snapshot.job(ask.job).uid));
  return Mix(seed, std::uint64_t{role.role} << 32 | static_cast<std::uint32_t>(nth));
}

}  // namespace tephra
