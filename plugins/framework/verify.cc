#include "plugins/framework/verify.h"

#include <algorithm>
#include <bit>

namespace tephra {
namespace {

std::uint64_t PairKey(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

std::string Numbers(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + " of " + std::to_string(b);
}

}  // namespace

void Verifier::Begin(const Snapshot& snapshot) {
  snapshot_ = &snapshot;
  ++plan_;
  rows_.resize(std::max(rows_.size(), snapshot.hardware().slots()));
  placed_in_.resize(std::max(placed_in_.size(), snapshot.books().tasks.size()));
  limit_counts_.clear();
  counted_.clear();
  queue_extra_.clear();
  claim_extra_.clear();
  top_extra_ = {};
}

Verifier::Row& Verifier::RowOf(NodeId node) {
  Row& row = rows_[node.index()];
  if (row.plan != plan_) {
    const NodeView view = snapshot_->occupancy().View(snapshot_->hardware(), node);
    row.plan = plan_;
    row.node = view.row;
    row.devices.assign(view.devices.begin(), view.devices.end());
  }
  return row;
}

std::string Verifier::Check(const Decision& decision) {
  const bool starts =
      decision.verdict == Verdict::kStart || decision.verdict == Verdict::kStartAfterEviction;
  if (!starts && !decision.placements.empty()) return "places tasks although it does not start";
  if (!decision.evictions.empty()) {
    if (starts) return "evicts for a start, and no action that may do so exists yet";
    return CheckUnwinding(decision);
  }
  if (!starts) return "";
  std::string fault;
  std::size_t taken = 0;
  while (taken < decision.placements.size()) {
    fault = CheckPlacement(decision, decision.placements[taken]);
    if (!fault.empty()) break;
    ++taken;
  }
  if (fault.empty()) fault = CheckMinimum(decision);
  if (fault.empty()) fault = CheckQueue(decision);
  if (fault.empty() && snapshot_->queues().guarantees()) fault = CheckKept(decision);
  if (fault.empty()) return "";
  // Nothing of a decision that does not hold stays in the rows.
  for (std::size_t i = 0; i < taken; ++i) {
    const Placement& placement = decision.placements[i];
    Take(snapshot_->cls(snapshot_->task(placement.task).cls), placement, -1);
    placed_in_[placement.task.index()] = 0;
  }
  return fault;
}

std::string Verifier::CheckPlacement(const Decision& decision, const Placement& placement) {
  const Hardware& hardware = snapshot_->hardware();
  if (placement.task.index() >= snapshot_->books().tasks.size()) return "places an unknown task";
  const TaskRow& task = snapshot_->task(placement.task);
  if (task.job != decision.job) return "places a task of another job";
  if (task.phase != TaskPhase::kPending) return "places a task that is not pending";
  if (placed_in_[placement.task.index()] == plan_) return "places a task twice";
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
  Row& row = RowOf(placement.node);
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
    const BoundedCount& count = CountOf(cls.limits[i], domain);
    const std::int32_t left = count.Left(cls.pod.limits[i].max);
    if (left <= 0) {
      return "node " + spec.name + " has " + Numbers(count.total(), count.total() + left) +
             " tasks of group " + cls.pod.limits[i].group;
    }
  }
  Take(cls, placement, +1);
  placed_in_[placement.task.index()] = plan_;
  return "";
}

// The slices are what the containers ask for, on different devices each, and the devices have them.
std::string Verifier::CheckSlices(const TaskClass& cls, const Placement& placement, Row& row) {
  std::size_t expected = 0;
  for (const std::vector<DeviceAsk>* asks : {&cls.lasting, &cls.init}) {
    for (const DeviceAsk& ask : *asks) {
      expected += static_cast<std::size_t>(ask.request.count);
      std::int32_t given = 0;
      for (const Slice& slice : placement.slices) {
        if (slice.container != ask.container) continue;
        ++given;
        if (slice.compute != ask.request.compute ||
            (!ask.request.whole() && slice.memory_mib != ask.request.memory_mib)) {
          return "would give a slice of another size than asked";
        }
      }
      if (given != ask.request.count)
        return "would give devices " + Numbers(given, ask.request.count);
    }
  }
  if (expected != placement.slices.size()) return "would give slices that nobody asks for";
  const NodeSpec& spec = snapshot_->hardware().spec(placement.node);
  for (std::size_t i = 0; i < placement.slices.size(); ++i) {
    const Slice& slice = placement.slices[i];
    if (slice.device >= row.devices.size()) return "has no device " + std::to_string(slice.device);
    for (std::size_t j = 0; j < i; ++j) {
      const Slice& other = placement.slices[j];
      if (other.device == slice.device && other.container == slice.container) {
        return "would give one container the same device twice";
      }
    }
    if (!ModelAllowed(cls.pod.constraints.device_models, spec.devices[slice.device].model)) {
      return "would give a device of model " + spec.devices[slice.device].model;
    }
    if (slice.compute == kWholeGpu && row.devices[slice.device].users > 0) {
      return "would give whole device " + std::to_string(slice.device) + ", which is in use";
    }
  }
  DeviceCharges(cls, placement.slices, scratch_);
  for (const DeviceCharge& charge : scratch_) {
    const DeviceRow& device = row.devices[charge.device];
    if (charge.compute > device.free_compute || charge.memory_mib > device.free_memory_mib) {
      return "device " + std::to_string(charge.device) + " would give compute " +
             Numbers(charge.compute, device.free_compute) + ", memory " +
             Numbers(charge.memory_mib, device.free_memory_mib);
    }
  }
  return "";
}

void Verifier::Take(const TaskClass& cls, const Placement& placement, int sign) {
  Row& row = RowOf(placement.node);
  Resources amount = cls.demand;
  amount[kGpu] = amount[kGpuMemory] = 0;
  DeviceCharges(cls, placement.slices, scratch_);
  for (const DeviceCharge& charge : scratch_) {
    DeviceRow& device = row.devices[charge.device];
    device.free_compute -= sign * charge.compute;
    device.free_memory_mib -= sign * charge.memory_mib;
    device.users += sign;
    amount[kGpu] += charge.compute;
    amount[kGpuMemory] += charge.memory_mib;
  }
  row.node.free.Add(amount, -sign);
  const TaskRow& task = snapshot_->task(placement.task);
  counted_[PairKey(task.job.value, task.role)] += sign;
  for (QueueId up = snapshot_->job(task.job).queue; up.valid();
       up = snapshot_->queues().parent(up)) {
    queue_extra_[up].Add(amount, sign);
  }
  if (snapshot_->queues().guarantees()) {
    TakeClaims(snapshot_->job(task.job).queue, amount, sign);
  }
  for (std::size_t i = 0; i < cls.limits.size(); ++i) {
    const std::string& key = snapshot_->classes().topology_key(cls.limits[i]);
    const std::uint32_t domain = snapshot_->hardware().domain(key, placement.node);
    if (domain == Hardware::kNoDomain) continue;
    CountOf(cls.limits[i], domain).Add(cls.pod.limits[i].max, sign);
  }
}

void Verifier::TakeClaims(QueueId queue, const Resources& amount, int sign) {
  const QueueTree& queues = snapshot_->queues();
  const Occupancy& occupancy = snapshot_->occupancy();
  top_extra_.holds.Add(amount, sign);
  Resources grown = amount;
  std::int64_t times = sign;
  for (QueueId up = queue; up.valid(); up = queues.parent(up)) {
    Claim& extra = claim_extra_[up];
    extra.holds.Add(grown, times);
    times = 1;
    for (Kind k = 0; k < kMaxKinds; ++k) {
      const std::int64_t claims =
          occupancy.ClaimWith(queues, up, k, extra.holds[k]) - occupancy.queue_claim(up)[k];
      grown[k] = claims - extra.claims[k];
      extra.claims[k] = claims;
    }
  }
  top_extra_.claims.Add(grown, times);
}

BoundedCount& Verifier::CountOf(LimitId limit, std::uint32_t domain) {
  const auto [it, fresh] = limit_counts_.try_emplace(PairKey(limit.value, domain));
  if (fresh) it->second = snapshot_->occupancy().limit_count(limit, domain);
  return it->second;
}

// A gang that a failed binding left below its minimum gives back all that runs of it.
std::string Verifier::CheckUnwinding(const Decision& decision) {
  const JobRow& job = snapshot_->job(decision.job);
  if (!job.broken || job.satisfied()) return "evicts tasks of a gang that no failed binding broke";
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
  if (decision.evictions.size() != running) {
    return "evicts " +
           Numbers(static_cast<std::int64_t>(decision.evictions.size()),
                   static_cast<std::int64_t>(running)) +
           " running tasks";
  }
  return "";
}

std::string Verifier::CheckMinimum(const Decision& decision) {
  const JobRow& job = snapshot_->job(decision.job);
  std::int32_t total = 0;
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const auto extra = counted_.find(PairKey(decision.job.value, r));
    const std::int32_t counted =
        job.roles[r].counted + (extra == counted_.end() ? 0 : extra->second);
    total += counted;
    if (counted < job.roles[r].min) {
      return "role " + job.roles[r].name + " would run " + Numbers(counted, job.roles[r].min);
    }
  }
  if (total < job.min_member) return "gang would run " + Numbers(total, job.min_member);
  return "";
}

std::string Verifier::CheckQueue(const Decision& decision) {
  const QueueTree& queues = snapshot_->queues();
  for (QueueId up = snapshot_->job(decision.job).queue; up.valid(); up = queues.parent(up)) {
    const QueueSpec& queue = queues.spec(up);
    if (!queues.present(up) || queue.limited_kinds == 0) continue;
    const Resources& extra = queue_extra_[up];
    for (KindSet kinds = queue.limited_kinds; kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      const std::int64_t after = snapshot_->occupancy().queue_total(up)[k] + extra[k];
      if (extra[k] > 0 && after > queue.limit[k]) {
        return "queue " + queue.name + " would hold " + snapshot_->books().kinds.Name(k) + " " +
               Numbers(after, queue.limit[k]);
      }
    }
  }
  return "";
}

// Nothing that is kept for one queue is taken by another.
std::string Verifier::CheckKept(const Decision& decision) {
  const QueueTree& queues = snapshot_->queues();
  const Occupancy& occupancy = snapshot_->occupancy();
  for (Kind k = 0; k < kMaxKinds; ++k) {
    const std::string& kind =
        k < snapshot_->books().kinds.size() ? snapshot_->books().kinds.Name(k) : std::string();
    for (QueueId up = snapshot_->job(decision.job).queue; up.valid(); up = queues.parent(up)) {
      const QueueSpec& queue = queues.spec(up);
      if (!queues.present(up) || (queue.limited_kinds >> k & 1) == 0) continue;
      const std::int64_t more = claim_extra_[up].claims[k];
      const std::int64_t after = occupancy.queue_claim(up)[k] + more;
      if (more > 0 && after > queue.limit[k]) {
        return "queue " + queue.name + " would hold or keep for others " + kind + " " +
               Numbers(after, queue.limit[k]);
      }
    }
    const std::int64_t free = occupancy.free_total()[k] - top_extra_.holds[k];
    const std::int64_t kept = occupancy.kept_free()[k] + top_extra_.claims[k] - top_extra_.holds[k];
    if (top_extra_.claims[k] > 0 && kept > std::max<std::int64_t>(free, 0)) {
      return "the cluster would keep for others " + kind + " " + Numbers(kept, free) + " free";
    }
  }
  return "";
}

}  // namespace tephra
