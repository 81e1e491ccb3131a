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

namespace {

RankSpan SpanOf(const Hardware& hardware, NodeId node) {
  if (!node.valid() || !hardware.present(node)) return {0, 0};
  return {hardware.rank(node), hardware.rank(node) + 1};
}

// Some domain of at most the tier holds the span.
bool OneHolds(const Fabric& fabric, const RankSpan& span, std::int32_t highest_tier) {
  const std::vector<std::uint32_t> around = fabric.Around(span);
  return !around.empty() && fabric.domains()[around.front()].tier <= highest_tier;
}

}  // namespace

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
    ask.around = RankSpan::Around(ask.around, SpanOf(hardware, node));
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
  if (!ask.around.empty() && !OneHolds(hardware.fabric(), ask.around, ask.highest_tier)) {
    ask.highest_tier = kAnyTier;
  }
}

bool Together(const Snapshot& snapshot, const GangAsk& ask,
              const std::vector<Placement>& placements) {
  if (!ask.tied()) return true;
  RankSpan span = ask.around;
  for (const Placement& placement : placements) {
    span = RankSpan::Around(span, SpanOf(snapshot.hardware(), placement.node));
  }
  return OneHolds(snapshot.hardware().fabric(), span, ask.highest_tier);
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
