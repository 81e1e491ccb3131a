#include "engine/gang_ask.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/gang_counts.h"
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
  const GangCounts counts(job);
  for (std::size_t r = 0; r < job.roles.size(); ++r) {
    const RoleRow& role = job.roles[r];
    const std::int32_t missing = std::max(0, counts.least(r) - role.counted);
    if (missing > 0) least.Add(snapshot.cls(role.cls).demand, missing);
    open -= missing;
    if (spare == nullptr && role.pending > missing) spare = &role;
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

Nearness NearnessOf(const Snapshot& snapshot, const Locality& locality, std::int32_t members) {
  Nearness nearness;
  switch (locality.mode) {
    case Locality::Mode::kUnsaid:
      // What starts with one task is no gang, and its tasks need not know each other.
      nearness.near = snapshot.config().gang_locality == GangLocality::kNear && members > 1;
      break;
    case Locality::Mode::kPreferred:
      nearness.near = true;
      break;
    case Locality::Mode::kRequired:
      nearness.near = true;
      nearness.highest_tier =
          locality.highest_tier_name.empty()
              ? locality.highest_tier
              : snapshot.hardware().fabric().TierNamed(locality.highest_tier_name);
      break;
  }
  return nearness;
}

// Where tasks of the job, or of one of its groups, run or are placed.
RankSpan SpanOf(const Snapshot& snapshot, const JobRow& job, std::uint32_t group,
                const std::vector<Placement>& placed) {
  RankSpan span{0, 0};
  const auto add = [&](std::uint32_t role, NodeId node) {
    if (!job.Inside(job.roles[role].group, group)) return;
    span = RankSpan::Around(span, SpanOf(snapshot.hardware(), node));
  };
  for (const Placement& placement : placed) {
    add(snapshot.task(placement.task).role, placement.node);
  }
  if (job.counted() == 0) return span;
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    for (const TaskId id : job.roles[r].tasks) {
      const TaskRow& task = snapshot.task(id);
      if (task.phase == TaskPhase::kAssumed || task.phase == TaskPhase::kRunning) add(r, task.node);
    }
  }
  return span;
}

void Locate(const Snapshot& snapshot, const JobRow& job, std::uint32_t group,
            const std::vector<Placement>& placed, Nearness& nearness) {
  const Fabric& fabric = snapshot.hardware().fabric();
  if (!nearness.near || (!nearness.tied() && fabric.empty())) return;
  nearness.around = SpanOf(snapshot, job, group, placed);
  // Its running tasks are in no such domain any more: the rest would never be either.
  if (job.counted() > 0 && !nearness.around.empty() &&
      !OneHolds(fabric, nearness.around, nearness.highest_tier)) {
    nearness.highest_tier = kAnyTier;
  }
}

// Of the ask these roles, so many of their tasks, and so near.
GangAsk Piece(const GangAsk& ask, std::size_t first_role, std::size_t end_role, std::int32_t least,
              const Nearness& nearness) {
  GangAsk piece;
  static_cast<Nearness&>(piece) = nearness;
  piece.job = ask.job;
  piece.queue = ask.queue;
  piece.roles.assign(ask.roles.begin() + static_cast<std::ptrdiff_t>(first_role),
                     ask.roles.begin() + static_cast<std::ptrdiff_t>(end_role));
  piece.least = least;
  piece.without = ask.without;
  piece.within = ask.within;
  return piece;
}

}  // namespace

GangAsk PartOf(const GangAsk& ask, std::size_t at) {
  const GroupAsk& group = ask.groups[at];
  GangAsk part = Piece(ask, group.first_role, group.end_role, group.least, group);
  part.group = group.group;
  for (std::size_t g = at + 1; g < group.end_group; ++g) {
    GroupAsk& inner = part.groups.emplace_back(ask.groups[g]);
    inner.first_role -= group.first_role;
    inner.end_role -= group.first_role;
    inner.end_group -= at + 1;
  }
  return part;
}

GangAsk RestOf(const GangAsk& ask) {
  std::int32_t least = ask.least;
  for (std::size_t g = 0; g < ask.groups.size(); g = ask.groups[g].end_group) {
    least -= ask.groups[g].least;
  }
  const std::size_t end = ask.groups.empty() ? ask.roles.size() : ask.groups[0].first_role;
  GangAsk rest = Piece(ask, 0, end, least, ask);
  rest.group = ask.group;
  return rest;
}

void Locate(const Snapshot& snapshot, const std::vector<Placement>& placed, GangAsk& ask) {
  const JobRow& job = snapshot.job(ask.job);
  const auto locate = [&](std::uint32_t group, const Locality& locality, std::int32_t members,
                          Nearness& nearness) {
    nearness = NearnessOf(snapshot, locality, members);
    Locate(snapshot, job, group, placed, nearness);
  };
  locate(kNoGroup, job.locality, job.min_member, ask);
  for (GroupAsk& group : ask.groups) {
    const GroupSpec& spec = job.groups[group.group].spec;
    locate(group.group, spec.locality, spec.min_member, group);
  }
}

void LocateAlone(const Snapshot& snapshot, GangAsk& ask) {
  const JobRow& job = snapshot.job(ask.job);
  const auto locate = [&](const Locality& locality, std::int32_t members, Nearness& nearness) {
    nearness = NearnessOf(snapshot, locality, members);
    nearness.around = {0, 0};
  };
  locate(job.locality, job.min_member, ask);
  for (GroupAsk& group : ask.groups) {
    const GroupSpec& spec = job.groups[group.group].spec;
    locate(spec.locality, spec.min_member, group);
  }
}

bool Together(const Snapshot& snapshot, const GangAsk& ask,
              const std::vector<Placement>& placements) {
  const JobRow& job = snapshot.job(ask.job);
  const auto together = [&](const Nearness& nearness, std::uint32_t group) {
    if (!nearness.tied()) return true;
    RankSpan span = nearness.around;
    for (const Placement& placement : placements) {
      const std::uint32_t of = job.roles[snapshot.task(placement.task).role].group;
      if (!job.Inside(of, group)) continue;
      span = RankSpan::Around(span, SpanOf(snapshot.hardware(), placement.node));
    }
    return OneHolds(snapshot.hardware().fabric(), span, nearness.highest_tier);
  };
  return together(ask, ask.group) &&
         std::all_of(ask.groups.begin(), ask.groups.end(),
                     [&](const GroupAsk& group) { return together(group, group.group); });
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
