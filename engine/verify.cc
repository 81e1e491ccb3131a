#include "engine/verify.h"

#include <algorithm>
#include <bit>

namespace tephra {
std::string Verifier::Numbers(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + " of " + std::to_string(b);
}

void Verifier::Side::Begin(std::size_t nodes) {
  rows.resize(std::max(rows.size(), nodes));
  limit_counts.clear();
  queue_extra.clear();
  protected_extra.clear();
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
  protected_extra = other.protected_extra;
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
  left_.clear();
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
      if (decision.reason->start_ms <= snapshot_->now()) return "reservations a start that is past";
      [[fallthrough]];
    case Verdict::kWait:
    case Verdict::kInfeasible:
    case Verdict::kUnwind:
      if (!decision.placements.empty()) return "places tasks although it does not start";
      if (!decision.moves.empty()) return "moves tasks although it does not start";
      if (decision.verdict == Verdict::kUnwind) {
        std::string fault = CheckUnwinding(decision);
        if (!fault.empty()) return fault;
      } else if (!decision.evictions.empty()) {
        return "evicts tasks although it does not start";
      }
      // It no longer waits for what is reserved for it.
      if (Leaves(decision)) Leave(decision.job);
      return "";
  }
  return "has no verdict";
}

std::string Verifier::CheckStart(const Decision& decision) {
  const bool at_once = decision.verdict == Verdict::kStart;
  const bool leaves = Leaves(decision);
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
  if (leaves) Leave(decision.job);
  Side& side = at_once ? now_ : later_;
  std::vector<TaskId> left;  // whose reserved room this decision takes
  std::size_t taken = 0, moved = 0;
  while (taken < decision.placements.size()) {
    const Placement& placement = decision.placements[taken];
    if (LeaveReserved(placement.task)) left.push_back(placement.task);
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
  if (fault.empty()) fault = CheckDeserved(side, before, decision.job);
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
  for (const TaskId task : left) TakeReserved(task, +1);
  if (leaves) Restore(decision.job);
  free_victims(-1);
  return fault;
}

std::string Verifier::CheckPlacement(Side& side, const Decision& decision,
                                     const Placement& placement) {
  if (placement.task.index() >= snapshot_->books().tasks.size()) return "places an unknown task";
  const TaskRow& task = snapshot_->task(placement.task);
  if (task.job != decision.job) return "places a task of another job";
  if (task.phase != TaskPhase::kPending) return "places a task that is not pending";
  if (placed_in_[placement.task.index()] == plan_) return "places a task twice";
  return CheckPlace(side, placement);
}

// The task fits on its node, whichever it is.
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
    const std::int32_t left = LeftOf(snapshot_->facts(), cls, i, count, placement.node);
    if (left <= 0 && cls.pod.limits[i].of_node()) {
      const std::string& group = cls.pod.limits[i].group;
      return "node " + spec.name + " has " + Numbers(count.taken(), PlacesOf(spec, group)) +
             " places of group " + group + " taken, and the task takes " +
             std::to_string(count.Asked(cls.use(i))) + " more";
    }
    if (left <= 0) {
      return "node " + spec.name + " has " + Numbers(count.total(), count.total() + left) +
             " tasks of group " + cls.pod.limits[i].group;
    }
  }
  return "";
}

void Verifier::TakeBoth(TaskId task, NodeId node, const Slices& slices, int sign) {
  Take(now_, task, node, slices, sign);
  if (ahead_) Take(later_, task, node, slices, sign);
}

// Takes off the reserved room of the task, once in a plan. True: it did.
bool Verifier::LeaveReserved(TaskId task) {
  if (task.index() >= snapshot_->books().tasks.size()) return false;
  const TaskId room = snapshot_->task(task).reserved_row;
  if (!room.valid() || placed_in_[room.index()] == plan_) return false;
  TakeReserved(task, -1);
  return true;
}

void Verifier::TakeReserved(TaskId task, int sign) {
  const TaskId id = snapshot_->task(task).reserved_row;
  const TaskRow& room = snapshot_->task(id);
  placed_in_[id.index()] = sign < 0 ? plan_ : 0;
  if (snapshot_->hardware().present(room.node)) TakeBoth(id, room.node, room.slices, sign);
}

bool Verifier::Leaves(const Decision& decision) const {
  return decision.part == Part::kMinimum && !left_.contains(decision.job) &&
         snapshot_->job(decision.job).keeps_room();
}

void Verifier::Leave(JobId job) {
  std::vector<TaskId>& left = left_[job];
  for (const RoleRow& role : snapshot_->job(job).roles) {
    for (const TaskId id : role.tasks) {
      if (LeaveReserved(id)) left.push_back(id);
    }
  }
}

void Verifier::Restore(JobId job) {
  for (const TaskId task : left_.at(job)) TakeReserved(task, +1);
  left_.erase(job);
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
      if (snapshot_->job(task.job).is_protected()) side.protected_extra[up].Add(amount, sign);
    }
    if (snapshot_->queues().guarantees()) TakeClaims(side, queue, amount, sign);
  }
  for (std::size_t i = 0; i < cls.limits.size(); ++i) {
    const std::string& key = snapshot_->classes().topology_key(cls.limits[i]);
    const std::uint32_t domain = snapshot_->hardware().domain(key, node);
    if (domain == Hardware::kNoDomain) continue;
    CountOf(side, cls.limits[i], domain).Add(cls.use(i), sign);
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

}  // namespace tephra
