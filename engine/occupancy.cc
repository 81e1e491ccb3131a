#include "engine/occupancy.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "topology/base/check.h"

namespace tephra {
namespace {

// Calls copy(id) for what `log` names since `read`, or all() where it no longer tells.
template <class IdType, class Copy, class All>
void Follow(const ChangeLog<IdType>& log, std::uint64_t& read, Copy copy, All all) {
  if (log.Covers(read)) {
    log.EachSince(read, copy);
  } else {
    all();
  }
  read = log.end();
}

}  // namespace

std::int32_t LeftOf(const Facts& facts, const TaskClass& cls, std::size_t i, const BoundedCount& held,
                    NodeId node) {
  const DomainLimit& limit = cls.pod.limits[i];
  if (!limit.of_node()) return held.Left(cls.use(i));
  return held.Left(cls.use(i), PlacesOf(facts.hardware.spec(node), limit.group));
}

bool MayHave(const NodeView& view, const TaskClass& cls, std::size_t device) {
  return (!view.mixed_models && !cls.names_devices) ||
         DeviceAllowed(cls.pod.constraints, view.spec.devices[device]);
}

bool CanTake(const NodeView& view, const TaskClass& cls, const DeviceRequest& request,
             std::size_t device, const DeviceRow& row) {
  // What HasRoom would say, from the row alone: the device's description lies elsewhere in memory,
  // and a new class has every device looked at.
  if (view.usual_modes && request.sharing == Sharing::kHook) {
    const int held = row.use.all();
    const bool room = request.whole()
                          ? held == 0 && row.free_compute >= kWholeGpu
                          : held == row.use.of(SliceMode::kFraction) && row.free_compute >= 0 &&
                                row.free_compute >= request.compute &&
                                row.free_memory_mib >= request.memory_mib;
    return room && MayHave(view, cls, device);
  }
  return HasRoom(view.device(device, row), request, cls.pod.user_id) && MayHave(view, cls, device);
}

int GpuSizeOf(const TaskClass& cls) {
  if (cls.lasting.empty()) return -1;
  if (cls.whole_gpus == 0) return 0;
  return std::min(cls.whole_gpus, 15);
}

void Occupancy::Grow(const Facts& facts) {
  if (nodes_.size() < facts.hardware.slots()) nodes_.resize(facts.hardware.slots());
  if (devices_.size() < facts.hardware.device_rows()) devices_.resize(facts.hardware.device_rows());
  if (queue_own_.size() < facts.queues.size()) {
    queue_own_.resize(facts.queues.size());
    queue_total_.resize(facts.queues.size());
    protected_own_.resize(facts.queues.size());
    protected_total_.resize(facts.queues.size());
    if (!queue_claims_.empty()) queue_claims_.resize(facts.queues.size());
  }
  if (limits_.size() < facts.classes.limit_count()) limits_.resize(facts.classes.limit_count());
}

void Occupancy::ResetNode(const Facts& facts, NodeId node) {
  Grow(facts);
  NodeRow& row = nodes_[node.index()];
  free_total_.Add(row.free, -1);
  const std::uint32_t touches = row.touches + 1;  // labels may have changed though no amount did
  row = NodeRow{};
  row.touches = touches;
  const bool present = facts.hardware.present(node);
  if (present) row.free = facts.hardware.capacity(node);
  free_total_.Add(row.free);
  const auto& hardware = facts.hardware.spec(node).devices;
  for (std::size_t d = 0; d < hardware.size(); ++d) {
    devices_[facts.hardware.first_device(node) + d] = {
        present ? hardware[d].shareable_compute() : 0,
        {},
        present ? hardware[d].shareable_memory_mib() : 0};
  }
  node_log_.Add(node);
}

void Occupancy::ClearDevices(const Hardware& hardware, NodeId node) {
  const auto first = devices_.begin() + static_cast<std::ptrdiff_t>(hardware.first_device(node));
  std::fill_n(first, hardware.device_count(node), DeviceRow{});
}

namespace {

constexpr KindSet kDeviceKinds = 1u << kGpu | 1u << kGpuMemory;

struct RowCharge {
  Resources amount;   // that the task holds
  KindSet kinds = 0;  // the kinds of it that may be above zero
  Resources freed;    // that the row has free more than before
  KindSet freed_kinds = 0;
};

// Moves the columns of one node.
RowCharge ChargeRow(NodeRow& row, std::span<DeviceRow> devices,
                    std::span<const KindSet> model_kinds, std::span<const MigPlacements* const> mig,
                    const TaskClass& cls, const Slices& slices, int sign,
                    std::vector<DeviceCharge>& scratch) {
  RowCharge charged{cls.demand, cls.demand_kinds, {}, {}};
  Resources& amount = charged.amount;
  // What it holds of devices is known by its slices.
  const KindSet by_devices = kDeviceKinds | cls.model_kinds;
  charged.freed.AddKinds(amount, -sign, charged.kinds & ~by_devices);
  charged.freed_kinds = charged.kinds;
  if (cls.needs_devices()) {
    for (KindSet kinds = by_devices; kinds != 0; kinds &= kinds - 1) {
      amount.amount[std::countr_zero(kinds)] = 0;
    }
  }
  if (!slices.empty()) {
    charged.kinds |= kDeviceKinds;
    charged.freed_kinds |= kDeviceKinds;
    DeviceCharges(cls, slices, mig, scratch);
    // A node has free what its devices have: an over-committed one takes nothing from the others.
    for (const DeviceCharge& charge : scratch) {
      amount[kGpu] += charge.compute;
      amount[kGpuMemory] += charge.memory_mib;
      if (charge.device >= devices.size()) continue;
      DeviceRow& device = devices[charge.device];
      const std::int32_t compute = std::max(device.free_compute, 0);
      const std::int64_t memory_mib = std::max<std::int64_t>(device.free_memory_mib, 0);
      device.free_compute -= sign * charge.compute;
      device.free_memory_mib -= sign * charge.memory_mib;
      device.use.Add(charge.use, sign);
      const std::int32_t freed = std::max(device.free_compute, 0) - compute;
      charged.freed[kGpu] += freed;
      charged.freed[kGpuMemory] += std::max<std::int64_t>(device.free_memory_mib, 0) - memory_mib;
      if (model_kinds.empty() || model_kinds[charge.device] == 0) continue;
      const auto model = static_cast<Kind>(std::countr_zero(model_kinds[charge.device]));
      amount[model] += charge.compute;
      charged.freed[model] += freed;
      charged.kinds |= model_kinds[charge.device];
      charged.freed_kinds |= model_kinds[charge.device];
    }
    const int size = GpuSizeOf(cls);
    if (size >= 0) {
      auto& counter = row.gpu_tasks[static_cast<std::size_t>(size)];
      counter = static_cast<std::uint16_t>(counter + sign);
    }
  }
  row.free.AddKinds(charged.freed, +1, charged.freed_kinds);
  return charged;
}

}  // namespace

void NodeTrial::Charge(const TaskClass& cls, const Slices& slices, int sign) {
  ChargeRow(row_, devices_, node_.model_kinds, node_.mig, cls, slices, sign, scratch_);
}

void Occupancy::Charge(const Facts& facts, const TaskClass& cls, Holder holder, NodeId node,
                       const Slices& slices, int sign) {
  const QueueId queue = holder.queue;
  const std::span<DeviceRow> devices(devices_.data() + facts.hardware.first_device(node),
                                     facts.hardware.device_count(node));
  const RowCharge charged =
      ChargeRow(nodes_[node.index()], devices, facts.hardware.model_kinds(node),
                facts.hardware.mig(node), cls, slices, sign, scratch_);
  const Resources& amount = charged.amount;
  const KindSet kinds = charged.kinds;
  free_total_.AddKinds(charged.freed, +1, charged.freed_kinds);
  node_log_.Add(node);

  if (queue.valid()) {
    queue_own_[queue.index()].AddKinds(amount, sign, kinds);
    for (QueueId up = queue; up.valid(); up = facts.queues.parent(up)) {
      queue_total_[up.index()].AddKinds(amount, sign, kinds);
      queue_log_.Add(up);
    }
    if (!queue_claims_.empty()) ChargeClaims(facts.queues, queue, amount, sign, kinds);
    if (holder.is_protected) Protect(facts.queues, queue, amount, sign);
  } else {
    outside_queues_.AddKinds(amount, sign, kinds);
  }

  for (std::size_t i = 0; i < cls.limits.size(); ++i) {
    const LimitId limit = cls.limits[i];
    const std::uint32_t domain = facts.hardware.domain(facts.classes.topology_key(limit), node);
    if (domain == Hardware::kNoDomain) continue;
    Counts& counts = limits_[limit.index()];
    const auto it = counts.try_emplace(domain).first;
    it->second.Add(cls.use(i), sign);
    if (it->second.empty()) counts.erase(it);
    limit_log_.Add(limit);
  }
}

void Occupancy::Protect(const QueueTree& queues, QueueId queue, const Resources& amount, int sign) {
  protected_own_[queue.index()].Add(amount, sign);
  for (QueueId up = queue; up.valid(); up = queues.parent(up)) {
    protected_total_[up.index()].Add(amount, sign);
    queue_log_.Add(up);
  }
}

void Occupancy::Touch(NodeId node) {
  ++nodes_[node.index()].touches;
  node_log_.Add(node);
}

std::int64_t Occupancy::ClaimWith(const QueueTree& queues, QueueId id, Kind kind,
                                  std::int64_t more) const {
  const Claim& claim = queue_claims_[id.index()];
  const std::int64_t holds = queue_own_[id.index()][kind] + claim.under[kind] + more;
  return queues.present(id) ? std::max(queues.spec(id).guarantee[kind], holds) : holds;
}

// REQUIRES: the queue's own holdings have been charged already.
void Occupancy::ChargeClaims(const QueueTree& queues, QueueId queue, const Resources& amount,
                             int sign, KindSet kinds) {
  for (; kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    kept_free_[k] -= sign * amount[k];
    for (QueueId up = queue;;) {
      std::int64_t& total = queue_claims_[up.index()].total[k];
      const std::int64_t grown = ClaimWith(queues, up, k, 0) - total;
      total += grown;
      if (grown == 0) break;
      up = queues.parent(up);
      if (!up.valid()) {
        kept_free_[k] += grown;
        break;
      }
      queue_claims_[up.index()].under[k] += grown;
    }
  }
}

bool Occupancy::AddEmptyQueue(const QueueTree& queues, QueueId id) {
  if (queue_own_[id.index()] != Resources{}) return false;
  const Resources& guarantee = queues.spec(id).guarantee;
  if (guarantee.NonZero() == 0) return true;
  if (queue_claims_.empty()) return false;
  ChargeClaims(queues, id, Resources{}, +1, guarantee.NonZero());
  for (QueueId up = id; up.valid(); up = queues.parent(up)) queue_log_.Add(up);
  return true;
}

void Occupancy::RollUpQueues(const QueueTree& queues) {
  std::fill(queue_total_.begin(), queue_total_.end(), Resources{});
  std::fill(protected_total_.begin(), protected_total_.end(), Resources{});
  for (std::size_t q = 0; q < queue_own_.size(); ++q) {
    for (QueueId up(q); up.valid(); up = queues.parent(up)) {
      queue_total_[up.index()].Add(queue_own_[q]);
      protected_total_[up.index()].Add(protected_own_[q]);
    }
  }
  queue_claims_.clear();
  kept_free_ = {};
  if (queues.guarantees()) {
    queue_claims_.resize(queue_own_.size());
    // As if each queue came to hold what it does one after the other.
    constexpr KindSet kAll = (KindSet{1} << kMaxKinds) - 1;
    for (std::size_t q = 0; q < queue_own_.size(); ++q) {
      ChargeClaims(queues, QueueId(q), queue_own_[q], +1, kAll);
    }
  }
  queue_log_.Reset();
}

const BoundedCount& Occupancy::limit_count(LimitId limit, std::uint32_t domain) const {
  static const BoundedCount kNone;
  if (limit.index() >= limits_.size()) return kNone;
  const auto it = limits_[limit.index()].find(domain);
  return it == limits_[limit.index()].end() ? kNone : it->second;
}

std::int32_t Occupancy::LimitRoom(const Facts& facts, const TaskClass& cls, NodeId node) const {
  std::int32_t room = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = 0; i < cls.limits.size(); ++i) {
    const std::uint32_t domain =
        facts.hardware.domain(facts.classes.topology_key(cls.limits[i]), node);
    if (domain == Hardware::kNoDomain) continue;
    room = std::min(room, LeftOf(facts, cls, i, limit_count(cls.limits[i], domain), node));
  }
  return room;
}

void Occupancy::CopyNode(const Hardware& hardware, const Occupancy& truth, NodeId node) {
  NodeRow& mine = nodes_[node.index()];
  const NodeRow& theirs = truth.nodes_[node.index()];
  const std::size_t first = hardware.first_device(node), count = hardware.device_count(node);
  const auto from = truth.devices_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto to = devices_.begin() + static_cast<std::ptrdiff_t>(first);
  if (mine == theirs && std::equal(from, from + static_cast<std::ptrdiff_t>(count), to)) return;
  free_total_.Add(mine.free, -1).Add(theirs.free);
  mine = theirs;
  std::copy_n(from, count, to);
  node_log_.Add(node);
}

void Occupancy::CopyChanges(const Hardware& hardware, const Occupancy& truth) {
  nodes_.resize(truth.nodes_.size());
  devices_.resize(truth.devices_.size());
  queue_own_.resize(truth.queue_own_.size());
  queue_total_.resize(truth.queue_total_.size());
  protected_own_.resize(truth.protected_own_.size());
  protected_total_.resize(truth.protected_total_.size());
  queue_claims_.resize(truth.queue_claims_.size());
  kept_free_ = truth.kept_free_;
  outside_queues_ = truth.outside_queues_;
  limits_.resize(truth.limits_.size());
  Follow(
      truth.node_log_, nodes_read_, [&](NodeId node) { CopyNode(hardware, truth, node); },
      [&] {
        free_total_ = truth.free_total_;
        nodes_ = truth.nodes_;
        devices_ = truth.devices_;
        node_log_.Reset();
      });
  Follow(
      truth.queue_log_, queues_read_,
      [&](QueueId q) {
        queue_own_[q.index()] = truth.queue_own_[q.index()];
        queue_total_[q.index()] = truth.queue_total_[q.index()];
        protected_own_[q.index()] = truth.protected_own_[q.index()];
        protected_total_[q.index()] = truth.protected_total_[q.index()];
        if (!queue_claims_.empty()) queue_claims_[q.index()] = truth.queue_claims_[q.index()];
      },
      [&] {
        queue_own_ = truth.queue_own_;
        queue_total_ = truth.queue_total_;
        protected_own_ = truth.protected_own_;
        protected_total_ = truth.protected_total_;
        queue_claims_ = truth.queue_claims_;
      });
  Follow(
      truth.limit_log_, limits_read_,
      [&](LimitId limit) {
        Counts& mine = limits_[limit.index()];
        const Counts& theirs = truth.limits_[limit.index()];
        if (mine == theirs) return;
        // Where the domain is a node, its count may have moved although its amounts did not.
        const auto name_changed = [&](const Counts& some, const Counts& other) {
          for (const auto& [domain, count] : some) {
            const auto it = other.find(domain);
            const bool same = it != other.end() && it->second == count;
            if (!same && domain < nodes_.size()) node_log_.Add(NodeId(domain));
          }
        };
        name_changed(mine, theirs);
        name_changed(theirs, mine);
        mine = theirs;
        limit_log_.Add(limit);
      },
      [&] {
        limits_ = truth.limits_;
        limit_log_.Reset();
      });
}

bool Occupancy::SameColumns(const Occupancy& other) const {
  const auto same_row = [](const NodeRow& a, const NodeRow& b) {
    return a.free == b.free && a.gpu_tasks == b.gpu_tasks;  // touches are no amounts
  };
  return std::equal(nodes_.begin(), nodes_.end(), other.nodes_.begin(), other.nodes_.end(),
                    same_row) &&
         devices_ == other.devices_ && free_total_ == other.free_total_ &&
         outside_queues_ == other.outside_queues_ && queue_own_ == other.queue_own_ &&
         queue_total_ == other.queue_total_ && protected_own_ == other.protected_own_ &&
         protected_total_ == other.protected_total_ && queue_claims_ == other.queue_claims_ &&
         kept_free_ == other.kept_free_ && limits_ == other.limits_;
}

}  // namespace tephra
