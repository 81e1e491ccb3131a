#include "plugins/framework/verify.h"

#include <algorithm>
#include <bit>
#include <set>

#include "plugins/framework/priority.h"

namespace tephra {
namespace {

std::uint64_t PairKey(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

std::string Verifier::Numbers(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + " of " + std::to_string(b);
}

void Verifier::Side::Begin(std::size_t nodes) {
  rows.resize(std::max(rows.size(), nodes));
  limit_counts.clear();
  queue_extra.clear();
  claim_extra.clear();
  top_extra = {};
  free_extra = {};
}

void Verifier::Side::Follow(const Side& other, std::uint64_t plan) {
  for (std::size_t n = 0; n < other.rows.size(); ++n) {
    if (other.rows[n].plan == plan) rows[n] = other.rows[n];
  }
  limit_counts = other.limit_counts;
  queue_extra = other.queue_extra;
  claim_extra = other.claim_extra;
  top_extra = other.top_extra;
  free_extra = other.free_extra;
}

void Verifier::Begin(const Snapshot& snapshot) {
  snapshot_ = &snapshot;
  ++plan_;
  now_.Begin(snapshot.hardware().slots());
  ahead_ = false;
  placed_in_.resize(std::max(placed_in_.size(), snapshot.books().tasks.size()));
  counted_.clear();
}

void Verifier::LookAhead() {
  if (ahead_) return;
  ahead_ = true;
  later_.Begin(snapshot_->hardware().slots());
  later_.Follow(now_, plan_);
  for (const TaskId id : snapshot_->books().releasing) {
    const TaskRow& task = snapshot_->task(id);
    if (snapshot_->hardware().present(task.node)) Take(later_, id, task.node, task.slices, -1);
  }
}

Verifier::Row& Verifier::RowOf(Side& side, NodeId node) {
  Row& row = side.rows[node.index()];
  if (row.plan != plan_) {
    const NodeView view = snapshot_->occupancy().View(snapshot_->hardware(), node);
    row.plan = plan_;
    row.node = view.row;
    row.devices.assign(view.devices.begin(), view.devices.end());
  }
  return row;
}

std::string Verifier::Check(const Decision& decision) {
  switch (decision.verdict) {
    case Verdict::kStart:
      if (!decision.evictions.empty()) return "evicts for a start at once";
      if (!decision.moves.empty()) return "moves tasks for a start at once";
      return CheckStart(decision);
    case Verdict::kStartAfterEviction:
      return CheckStart(decision);
    case Verdict::kReserve:
      if (decision.reason->start_ms <= snapshot_->now()) return "promises a start that is past";
      [[fallthrough]];
    case Verdict::kWait:
    case Verdict::kInfeasible:
      if (!decision.placements.empty()) return "places tasks although it does not start";
      if (!decision.moves.empty()) return "moves tasks although it does not start";
      if (!decision.evictions.empty()) {
        std::string fault = CheckUnwinding(decision);
        if (!fault.empty()) return fault;
      }
      // What is set aside for it, it waits for no longer.
      if (decision.part == Part::kMinimum) TakeHolds(snapshot_->job(decision.job), -1);
      return "";
  }
  return "has no verdict";
}

std::string Verifier::CheckStart(const Decision& decision) {
  const bool at_once = decision.verdict == Verdict::kStart;
  const bool lifts = decision.part == Part::kMinimum && snapshot_->job(decision.job).keeps_room();
  std::string fault = at_once ? "" : CheckVictims(decision);
  if (!fault.empty()) return fault;
  const auto free_victims = [&](int sign) {
    for (const TaskId id : decision.evictions) {
      const TaskRow& task = snapshot_->task(id);
      Take(later_, id, task.node, task.slices, -sign);
      counted_[PairKey(task.job.value, task.role)] -= sign;
      placed_in_[id.index()] = sign > 0 ? plan_ : 0;
    }
  };
  const Before before = BeforeOf(at_once ? now_ : later_, snapshot_->job(decision.job).queue);
  std::map<JobId, Before> before_moves;
  for (const Placement& move : decision.moves) {
    if (move.task.index() >= snapshot_->books().tasks.size()) return "moves an unknown task";
    const JobId job = snapshot_->task(move.task).job;
    if (!job.valid()) return "moves a pod of no job";
    before_moves[job] = BeforeOf(later_, snapshot_->job(job).queue);
  }
  free_victims(+1);
  if (lifts) TakeHolds(snapshot_->job(decision.job), -1);
  Side& side = at_once ? now_ : later_;
  std::vector<TaskId> left;  // whose berths this decision takes
  std::size_t taken = 0, moved = 0;
  while (taken < decision.placements.size()) {
    const Placement& placement = decision.placements[taken];
    if (LeaveBerth(placement.task)) left.push_back(placement.task);
    fault = CheckPlacement(side, decision, placement);
    if (!fault.empty()) break;
    TakeBoth(placement.task, placement.node, placement.slices, +1);
    counted_[PairKey(decision.job.value, snapshot_->task(placement.task).role)] += 1;
    placed_in_[placement.task.index()] = plan_;
    ++taken;
  }
  if (fault.empty()) fault = CheckMinimum(decision);
  if (fault.empty()) fault = CheckLocality(decision.job, decision.placements);
  if (fault.empty()) fault = CheckQueue(side, before, decision.job);
  if (fault.empty() && snapshot_->queues().guarantees()) fault = CheckKept(side, before, decision);
  if (fault.empty()) fault = CheckMoves(decision, before_moves, moved);
  if (fault.empty()) return "";
  // Nothing of a decision that does not hold stays in the rows.
  for (std::size_t i = 0; i < taken; ++i) {
    const Placement& placement = decision.placements[i];
    TakeBoth(placement.task, placement.node, placement.slices, -1);
    counted_[PairKey(decision.job.value, snapshot_->task(placement.task).role)] -= 1;
    placed_in_[placement.task.index()] = 0;
  }
  for (std::size_t i = 0; i < moved; ++i) {
    const Placement& move = decision.moves[i];
    TakeBoth(move.task, move.node, move.slices, -1);
  }
  for (const TaskId task : left) TakeBerth(task, +1);
  if (lifts) TakeHolds(snapshot_->job(decision.job), +1);
  free_victims(-1);
  return fault;
}

// Whom the decision evicts is there to be evicted, of lower priority if of the same queue, and no
// gang is left in part.
std::string Verifier::CheckVictims(const Decision& decision) {
  const JobRow& preemptor = snapshot_->job(decision.job);
  std::unordered_map<std::uint64_t, std::int32_t> evicted;  // by job and role
  std::vector<JobId> jobs;
  std::set<TaskId> moved;
  for (const Placement& move : decision.moves) moved.insert(move.task);
  for (const TaskId id : decision.evictions) {
    if (id.index() >= snapshot_->books().tasks.size()) return "evicts an unknown task";
    const TaskRow& task = snapshot_->task(id);
    if (!task.job.valid()) return "evicts a pod of no job";
    const JobRow& job = snapshot_->job(task.job);
    if (task.job == decision.job) return "evicts a task of its own job";
    if (task.phase != TaskPhase::kRunning) return "evicts a task that does not run";
    if (placed_in_[id.index()] == plan_) return "evicts a task twice";
    if (!job.preemptible || !task.preemptible) {
      return "evicts a task of job " + job.name + ", which is not preemptible";
    }
    if (!preemptor.evicts) return "evicts for job " + preemptor.name + ", for which nobody goes";
    if (moved.contains(id)) {
      if (!job.movable) return "moves a task of job " + job.name + ", which is not to be moved";
    } else if (job.queue == preemptor.queue &&
               PrecedenceOf(*snapshot_, job) >= PrecedenceOf(*snapshot_, preemptor)) {
      return "evicts a task of job " + job.name + " of priority " + std::to_string(job.priority) +
             " for one of priority " + std::to_string(preemptor.priority) + " in the same queue";
    }
    const bool other = !moved.contains(id) && job.queue != preemptor.queue;
    if (other && !(snapshot_->queues().present(job.queue) &&
                   snapshot_->queues().spec(job.queue).reclaimable)) {
      return "reclaims from queue " + job.queue_name + ", which is not reclaimable";
    }
    if (++evicted[PairKey(task.job.value, task.role)] == 1) jobs.push_back(task.job);
  }
  for (const JobId id : jobs) {
    const JobRow& job = snapshot_->job(id);
    std::int32_t left = 0;
    bool below = false;
    for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
      const std::uint64_t key = PairKey(id.value, r);
      const auto before = counted_.find(key);
      const auto here = evicted.find(key);
      const std::int32_t counted = job.roles[r].counted +
                                   (before == counted_.end() ? 0 : before->second) -
                                   (here == evicted.end() ? 0 : here->second);
      below = below || counted < job.roles[r].min;
      left += counted;
    }
    below = below || left < job.min_member || !job.groups.empty();  // one with groups goes whole
    if (!below) continue;
    for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
      for (const TaskId task : job.roles[r].tasks) {
        const TaskPhase phase = snapshot_->task(task).phase;
        const bool goes = placed_in_[task.index()] == plan_ ||
                          std::find(decision.evictions.begin(), decision.evictions.end(), task) !=
                              decision.evictions.end();
        if ((phase == TaskPhase::kRunning || phase == TaskPhase::kAssumed) && !goes) {
          return "leaves job " + job.name + " with " + Numbers(left, job.min_member) +
                 " tasks and evicts only part of it";
        }
      }
    }
  }
  return "";
}

// Whoever is moved has a place to go on, where it fits beside all that is there then: all of its
// job that goes, as near to each other as it has to be, within what its queue may hold.
std::string Verifier::CheckMoves(const Decision& decision, const std::map<JobId, Before>& before,
                                 std::size_t& taken) {
  if (decision.moves.empty()) return "";
  if (snapshot_->config().consolidation.mode != Consolidation::Mode::kOn) {
    return "moves tasks although consolidation is off";
  }
  const std::set<TaskId> evicted(decision.evictions.begin(), decision.evictions.end());
  std::set<TaskId> moved;
  std::map<JobId, std::vector<Placement>> jobs;
  for (const Placement& move : decision.moves) {
    const TaskRow& task = snapshot_->task(move.task);
    const JobRow& job = snapshot_->job(task.job);
    if (!evicted.contains(move.task)) return "moves a task that it does not evict";
    if (!moved.insert(move.task).second) return "moves a task twice";
    if (task.cls != job.roles[task.role].cls) {
      return "moves a task of job " + job.name + ", which would come again as another";
    }
    std::string fault = CheckPlace(later_, move);
    if (!fault.empty()) return "moves a task of job " + job.name + ": " + fault;
    TakeBoth(move.task, move.node, move.slices, +1);
    ++taken;
    jobs[task.job].push_back(move);
  }
  if (moved.size() != evicted.size()) {
    return "moves " +
           Numbers(static_cast<std::int64_t>(moved.size()),
                   static_cast<std::int64_t>(evicted.size())) +
           " tasks that it evicts";
  }
  for (const auto& [job, moves] : jobs) {
    std::string fault = CheckLocality(job, moves);
    if (fault.empty()) fault = CheckQueue(later_, before.at(job), job);
    if (!fault.empty()) return fault;
  }
  return "";
}

std::string Verifier::CheckPlacement(Side& side, const Decision& decision,
                                     const Placement& placement) {
  if (placement.task.index() >= snapshot_->books().tasks.size()) return "places an unknown task";
  const TaskRow& task = snapshot_->task(placement.task);
  if (task.job != decision.job) return "places a task of another job";
  if (task.phase != TaskPhase::kPending && task.phase != TaskPhase::kHeld) {
    return "places a task that is not pending";
  }
  if (placed_in_[placement.task.index()] == plan_) return "places a task twice";
  return CheckPlace(side, placement);
}

// The task fits on its node, whoever it is.
std::string Verifier::CheckPlace(Side& side, const Placement& placement) {
  const Hardware& hardware = snapshot_->hardware();
  const TaskRow& task = snapshot_->task(placement.task);
  if (placement.node.index() >= hardware.slots() || !hardware.present(placement.node)) {
    return "places a task on a node that is not there";
  }
  const NodeSpec& spec = hardware.spec(placement.node);
  const TaskClass& cls = snapshot_->cls(task.cls);
  if (CheckNode(spec, cls.pod.constraints, cls.needs_devices()) != Ineligible::kNo) {
    return "node " + spec.name + " is not eligible for the task";
  }
  if (snapshot_->books().masks.Exclude(cls.pod.constraints.mask, placement.node)) {
    return "node " + spec.name + " is excluded by mask " + cls.pod.constraints.mask;
  }
  Row& row = RowOf(side, placement.node);
  for (KindSet kinds = cls.demand_kinds; kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    if (row.node.free[k] < cls.demand[k]) {
      return "node " + spec.name + " would give " + snapshot_->books().kinds.Name(k) + " " +
             Numbers(cls.demand[k], row.node.free[k]) + " free";
    }
  }
  std::string fault = CheckSlices(cls, placement, row);
  if (!fault.empty()) return "node " + spec.name + " " + fault;
  for (std::size_t i = 0; i < cls.limits.size(); ++i) {
    const std::uint32_t domain =
        hardware.domain(snapshot_->classes().topology_key(cls.limits[i]), placement.node);
    if (domain == Hardware::kNoDomain) continue;
    const BoundedCount& count = CountOf(side, cls.limits[i], domain);
    const std::int32_t left = count.Left(cls.pod.limits[i].max);
    if (left <= 0) {
      return "node " + spec.name + " has " + Numbers(count.total(), count.total() + left) +
             " tasks of group " + cls.pod.limits[i].group;
    }
  }
  return "";
}

std::string Verifier::CheckLocality(JobId id, const std::vector<Placement>& placements) {
  const JobRow& job = snapshot_->job(id);
  std::string fault = CheckNear(id, placements, job.locality, kNoGroup);
  for (std::uint32_t g = 0; g < job.groups.size() && fault.empty(); ++g) {
    fault = CheckNear(id, placements, job.groups[g].spec.locality, g);
  }
  return fault;
}

// Whoever has to be in one domain is, unless it was not before.
std::string Verifier::CheckNear(JobId of, const std::vector<Placement>& placements,
                                const Locality& locality, std::uint32_t group) {
  if (locality.mode != Locality::Mode::kRequired) return "";
  const JobRow& job = snapshot_->job(of);
  const Hardware& hardware = snapshot_->hardware();
  const Fabric& fabric = hardware.fabric();
  const std::int32_t highest = locality.highest_tier_name.empty()
                                   ? locality.highest_tier
                                   : fabric.TierNamed(locality.highest_tier_name);
  const auto together = [&](const RankSpan& span) {
    const std::vector<std::uint32_t> around = fabric.Around(span);
    return !around.empty() && fabric.domains()[around.front()].tier <= highest;
  };
  const auto at = [&](NodeId node) {
    return RankSpan{hardware.rank(node), hardware.rank(node) + 1};
  };
  const auto concerns = [&](const RoleRow& role) {
    return group == kNoGroup || role.group == group;
  };
  RankSpan span{0, 0};
  for (const RoleRow& role : job.roles) {
    if (!concerns(role)) continue;
    for (const TaskId id : role.tasks) {
      const TaskRow& task = snapshot_->task(id);
      const bool stays = (task.phase == TaskPhase::kRunning || task.phase == TaskPhase::kAssumed) &&
                         placed_in_[id.index()] != plan_;
      if (stays && hardware.present(task.node)) span = RankSpan::Around(span, at(task.node));
    }
  }
  if (!span.empty() && !together(span)) return "";
  for (const Placement& placement : placements) {
    if (!concerns(job.roles[snapshot_->task(placement.task).role])) continue;
    span = RankSpan::Around(span, at(placement.node));
  }
  if (span.empty() || together(span)) return "";
  const std::string what = group == kNoGroup ? "" : "group " + job.groups[group].spec.name + " of ";
  return what + "job " + job.name + " would not be in one domain of tier " +
         std::to_string(highest);
}

// The slices are what the containers ask for, on different devices each, and the devices have them.
void Verifier::TakeBoth(TaskId task, NodeId node, const Slices& slices, int sign) {
  Take(now_, task, node, slices, sign);
  if (ahead_) Take(later_, task, node, slices, sign);
}

// Takes off the room that is kept for the task while it moves, once in a plan. True: it did.
bool Verifier::LeaveBerth(TaskId task) {
  if (task.index() >= snapshot_->books().tasks.size()) return false;
  const TaskId berth = snapshot_->task(task).berth;
  if (!berth.valid() || placed_in_[berth.index()] == plan_) return false;
  TakeBerth(task, -1);
  return true;
}

void Verifier::TakeBerth(TaskId task, int sign) {
  const TaskId id = snapshot_->task(task).berth;
  const TaskRow& berth = snapshot_->task(id);
  placed_in_[id.index()] = sign < 0 ? plan_ : 0;
  if (snapshot_->hardware().present(berth.node)) TakeBoth(id, berth.node, berth.slices, sign);
}

void Verifier::TakeHolds(const JobRow& job, int sign) {
  for (const RoleRow& role : job.roles) {
    for (const TaskId id : role.tasks) {
      const TaskRow& task = snapshot_->task(id);
      if (sign < 0) {
        LeaveBerth(id);
      } else if (task.berth.valid()) {
        TakeBerth(id, sign);
      }
      if (task.phase != TaskPhase::kHeld || !snapshot_->hardware().present(task.node)) continue;
      TakeBoth(id, task.node, task.slices, sign);
    }
  }
}

void Verifier::Take(Side& side, TaskId id, NodeId node, const Slices& slices, int sign) {
  const TaskRow& task = snapshot_->task(id);
  const TaskClass& cls = snapshot_->cls(task.cls);
  Row& row = RowOf(side, node);
  Resources amount = cls.demand;  // that the task holds
  amount[kGpu] = amount[kGpuMemory] = 0;
  const ModelKinds& models = snapshot_->books().kinds.models();
  for (const auto& [model, kind] : models) amount[kind] = 0;
  // A node has free what its devices have: an over-committed one takes nothing from the others.
  Resources freed;
  freed.Add(amount, -sign);
  DeviceCharges(cls, slices, snapshot_->hardware().mig(node), scratch_);
  for (const DeviceCharge& charge : scratch_) {
    amount[kGpu] += charge.compute;
    amount[kGpuMemory] += charge.memory_mib;
    if (charge.device >= row.devices.size()) continue;  // the node has lost it since
    DeviceRow& device = row.devices[charge.device];
    const std::int32_t free_before = std::max(device.free_compute, 0);
    freed[kGpu] -= free_before;
    freed[kGpuMemory] -= std::max<std::int64_t>(device.free_memory_mib, 0);
    device.free_compute -= sign * charge.compute;
    device.free_memory_mib -= sign * charge.memory_mib;
    device.use.Add(charge.use, sign);
    freed[kGpu] += std::max(device.free_compute, 0);
    freed[kGpuMemory] += std::max<std::int64_t>(device.free_memory_mib, 0);
    if (models.empty()) continue;
    const auto model = models.find(snapshot_->hardware().spec(node).devices[charge.device].model);
    if (model == models.end()) continue;
    amount[model->second] += charge.compute;
    freed[model->second] += std::max(device.free_compute, 0) - free_before;
  }
  row.node.free.Add(freed);
  side.free_extra.Add(freed);
  if (task.job.valid()) {
    const QueueId queue = snapshot_->job(task.job).queue;
    for (QueueId up = queue; up.valid(); up = snapshot_->queues().parent(up)) {
      side.queue_extra[up].Add(amount, sign);
    }
    if (snapshot_->queues().guarantees()) TakeClaims(side, queue, amount, sign);
  }
  for (std::size_t i = 0; i < cls.limits.size(); ++i) {
    const std::string& key = snapshot_->classes().topology_key(cls.limits[i]);
    const std::uint32_t domain = snapshot_->hardware().domain(key, node);
    if (domain == Hardware::kNoDomain) continue;
    CountOf(side, cls.limits[i], domain).Add(cls.pod.limits[i].max, sign);
  }
}

void Verifier::TakeClaims(Side& side, QueueId queue, const Resources& amount, int sign) {
  const QueueTree& queues = snapshot_->queues();
  const Occupancy& occupancy = snapshot_->occupancy();
  side.top_extra.holds.Add(amount, sign);
  Resources grown = amount;
  std::int64_t times = sign;
  for (QueueId up = queue; up.valid(); up = queues.parent(up)) {
    Claim& extra = side.claim_extra[up];
    extra.holds.Add(grown, times);
    times = 1;
    for (Kind k = 0; k < kMaxKinds; ++k) {
      const std::int64_t claims =
          occupancy.ClaimWith(queues, up, k, extra.holds[k]) - occupancy.queue_claim(up)[k];
      grown[k] = claims - extra.claims[k];
      extra.claims[k] = claims;
    }
  }
  side.top_extra.claims.Add(grown, times);
}

BoundedCount& Verifier::CountOf(Side& side, LimitId limit, std::uint32_t domain) {
  const auto [it, fresh] = side.limit_counts.try_emplace(PairKey(limit.value, domain));
  if (fresh) it->second = snapshot_->occupancy().limit_count(limit, domain);
  return it->second;
}

// A gang that a failed binding left below its minimum gives back all that runs of it.
std::string Verifier::CheckUnwinding(const Decision& decision) {
  const JobRow& job = snapshot_->job(decision.job);
  const bool repairs = decision.reason->obstacle == Obstacle::kUnhealthy;
  if (repairs) {
    std::string fault = CheckRepair(decision);
    if (!fault.empty()) return fault;
  } else if (!job.broken || job.satisfied()) {
    return "evicts tasks of a gang that no failed binding broke";
  }
  std::size_t running = 0;
  for (const RoleRow& role : job.roles) {
    running += static_cast<std::size_t>(std::count_if(
        role.tasks.begin(), role.tasks.end(),
        [&](TaskId task) { return snapshot_->task(task).phase == TaskPhase::kRunning; }));
    for (TaskId task : role.tasks) {
      if (snapshot_->task(task).phase != TaskPhase::kAssumed) continue;
      return "evicts tasks of a gang while a binding of it is under way";
    }
  }
  for (TaskId id : decision.evictions) {
    if (id.index() >= snapshot_->books().tasks.size()) return "evicts an unknown task";
    const TaskRow& task = snapshot_->task(id);
    if (task.job != decision.job) return "evicts a task of another job";
    if (task.phase != TaskPhase::kRunning) return "evicts a task that does not run";
    if (placed_in_[id.index()] == plan_) return "evicts a task twice";
    placed_in_[id.index()] = plan_;
  }
  const bool runs_on = repairs && decision.part == Part::kElastic;
  if (decision.evictions.size() != running && !runs_on) {
    return "evicts " +
           Numbers(static_cast<std::int64_t>(decision.evictions.size()),
                   static_cast<std::int64_t>(running)) +
           " running tasks";
  }
  for (const TaskId id : decision.evictions) {
    const TaskRow& task = snapshot_->task(id);
    counted_[PairKey(task.job.value, task.role)] -= 1;
    if (ahead_ && snapshot_->hardware().present(task.node)) {
      Take(later_, id, task.node, task.slices, -1);
    }
  }
  return "";
}

// A gang leaves unhealthy devices by the configuration's wish alone: with those tasks only that
// hold slices of them where it meets every minimum without them, else as a whole.
std::string Verifier::CheckRepair(const Decision& decision) const {
  const JobRow& job = snapshot_->job(decision.job);
  if (!snapshot_->config().evict_from_unhealthy)
    return "evicts tasks from unhealthy devices unasked";
  std::vector<std::int32_t> gone(job.roles.size());
  std::int32_t sick = 0;
  for (const TaskId id : decision.evictions) {
    if (id.index() >= snapshot_->books().tasks.size()) return "evicts an unknown task";
    const TaskRow& task = snapshot_->task(id);
    if (task.job != decision.job) return "evicts a task of another job";
    if (!job.preemptible || !task.preemptible) {
      return "evicts a task of job " + job.name + ", which is not preemptible";
    }
    const auto& devices = snapshot_->hardware().spec(task.node).devices;
    sick += std::any_of(task.slices.begin(), task.slices.end(), [&](const Slice& slice) {
      return slice.device < devices.size() && !devices[slice.device].healthy;
    });
    ++gone[task.role];
  }
  const auto all = static_cast<std::int32_t>(decision.evictions.size());
  if (sick == 0) return "evicts tasks for unhealthy devices, and none of them has such";
  if (decision.part == Part::kMinimum) return "";
  if (sick != all) return "evicts " + Numbers(sick, all) + " tasks that hold unhealthy devices";
  bool below = job.counted() - all < job.min_member || !job.groups.empty();
  for (std::size_t r = 0; r < gone.size(); ++r) {
    below = below || job.roles[r].counted - gone[r] < job.roles[r].min;
  }
  return below ? "leaves job " + job.name + " below its minimum and evicts only part of it" : "";
}

std::string Verifier::CheckMinimum(const Decision& decision) {
  const JobRow& job = snapshot_->job(decision.job);
  std::vector<std::int32_t> counted;
  std::vector<std::int32_t> of_group(job.groups.size());
  std::int32_t total = 0;
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const auto extra = counted_.find(PairKey(decision.job.value, r));
    counted.push_back(job.roles[r].counted + (extra == counted_.end() ? 0 : extra->second));
    total += counted[r];
    if (job.roles[r].group != kNoGroup) of_group[job.roles[r].group] += counted[r];
  }
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const RoleRow& role = job.roles[r];
    if (role.group != kNoGroup && job.groups[role.group].spec.elastic &&
        of_group[role.group] == 0) {
      continue;
    }
    if (counted[r] < role.min) {
      return "role " + role.name + " would run " + Numbers(counted[r], role.min);
    }
  }
  for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
    const GroupSpec& group = job.groups[g].spec;
    if (of_group[g] >= group.min_member || (group.elastic && of_group[g] == 0)) continue;
    return "group " + group.name + " would run " + Numbers(of_group[g], group.min_member);
  }
  if (total < job.min_member) return "gang would run " + Numbers(total, job.min_member);
  return "";
}

}  // namespace tephra
