#include "queue/task_class.h"

#include <algorithm>

#include "queue/device_room.h"
#include "topology/base/check.h"
#include "topology/base/hash.h"

namespace tephra {
namespace {

Resources DemandOf(const ContainerSpec& container) {
  Resources demand = container.requests;
  const DeviceRequest devices = WithAmounts(container.devices);
  demand[kGpu] = std::int64_t{devices.count} * devices.compute;
  if (!devices.whole()) demand[kGpuMemory] = std::int64_t{devices.count} * devices.memory_mib;
  return demand;
}

Resources PodDemand(const PodTemplate& pod) {
  Resources lasting, sidecars, peak;
  for (const ContainerSpec& container : pod.containers) {
    const Resources demand = DemandOf(container);
    switch (container.kind) {
      case ContainerKind::kApp:
        lasting.Add(demand);
        break;
      case ContainerKind::kSidecar:
        lasting.Add(demand);
        sidecars.Add(demand);
        peak = Resources::Max(peak, sidecars);
        break;
      case ContainerKind::kInit:
        peak = Resources::Max(peak, Resources(sidecars).Add(demand));
        break;
    }
  }
  Resources total = Resources::Max(lasting, peak);
  total.Add(pod.overhead);
  total[kPods] = 1;
  return total;
}

std::string LimitName(const std::string& group, const std::string& topology_key) {
  return topology_key + '\0' + group;
}

class Hasher {
 public:
  void Add(std::uint64_t value) { hash_ = Mix(hash_, value); }
  void Add(const std::string& text) { Add(HashOf(text)); }
  void Add(const Resources& resources) {
    for (std::int64_t amount : resources.amount) {
      if (amount != 0) Add(static_cast<std::uint64_t>(amount));
    }
  }
  std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

// Hashes a part of the template; equality decides.
std::uint64_t TemplateHash(const PodTemplate& pod) {
  Hasher hasher;
  for (const ContainerSpec& container : pod.containers) {
    hasher.Add(container.requests);
    hasher.Add(static_cast<std::uint64_t>(container.devices.count) << 48 |
               static_cast<std::uint64_t>(container.devices.compute) << 32 |
               static_cast<std::uint64_t>(container.devices.memory_mib));
    if (container.devices.sharing == Sharing::kHook) continue;
    hasher.Add(static_cast<std::uint64_t>(container.devices.sharing));
    hasher.Add(container.devices.mig_profile);
  }
  for (const auto& [key, value] : pod.constraints.selector) hasher.Add(key), hasher.Add(value);
  for (const std::string& model : pod.constraints.device_models) hasher.Add(model);
  hasher.Add(pod.constraints.mask);
  for (const DomainLimit& limit : pod.limits) {
    hasher.Add(limit.group);
    for (const std::string& name : limit.shared) hasher.Add(name);
  }
  hasher.Add(pod.user_id);
  return hasher.hash();
}

}  // namespace

DeviceRequest LargestAsk(const TaskClass& cls) {
  const auto size = [](const DeviceRequest& one) { return std::int64_t{one.count} * one.compute; };
  DeviceRequest most;
  most.compute = 0;
  for (const std::vector<DeviceAsk>* asks : {&cls.lasting, &cls.init}) {
    for (const DeviceAsk& ask : *asks) {
      if (size(ask.request) >= size(most)) most = ask.request;
    }
  }
  return most;
}

TaskClass MakeTaskClass(const PodTemplate& pod, const ModelKinds& models) {
  TaskClass cls;
  cls.pod = pod;
  cls.demand = PodDemand(pod);
  if (pod.constraints.device_models.size() == 1 && cls.demand[kGpu] > 0) {
    const auto model = models.find(pod.constraints.device_models[0]);
    if (model != models.end()) {
      cls.demand[model->second] = cls.demand[kGpu];
      cls.model_kinds = KindSet{1} << model->second;
    }
  }
  cls.demand_kinds = cls.demand.NonZero();
  cls.names_devices = NamesDevices(pod.constraints);
  for (std::size_t c = 0; c < pod.containers.size(); ++c) {
    const ContainerSpec& container = pod.containers[c];
    if (container.devices.count == 0) continue;
    const DeviceAsk ask{static_cast<std::uint16_t>(c), container.kind,
                        WithAmounts(container.devices)};
    if (container.kind == ContainerKind::kInit) {
      cls.init.push_back(ask);
      continue;
    }
    cls.lasting.push_back(ask);
    if (container.devices.whole()) {
      cls.whole_gpus += container.devices.count;
    } else {
      cls.fractional = true;
    }
  }
  return cls;
}

namespace {

// The larger value of each nibble.
std::uint32_t MostOfNibbles(std::uint32_t a, std::uint32_t b) {
  std::uint32_t most = 0;
  for (int shift = 0; shift < 32; shift += 4) {
    most |= std::max(a >> shift & 0xf, b >> shift & 0xf) << shift;
  }
  return most;
}

void AddSlice(const TaskClass& cls, const Slice& slice, std::span<const MigPlacements* const> mig,
              DeviceCharge& charge) {
  charge.compute += slice.compute;
  charge.memory_mib += slice.memory_mib;
  charge.use.Add(
      UseOf(slice, slice.device < mig.size() ? mig[slice.device] : nullptr, cls.pod.user_id), +1);
}

// If one phase takes the whole device, other tasks cannot share it at any time.
void TakeWhole(std::vector<DeviceCharge>& charges) {
  for (DeviceCharge& charge : charges) {
    if (charge.use.of(SliceMode::kWhole) > 0) {
      charge.use.slices[static_cast<std::size_t>(SliceMode::kFraction)] = 0;
    }
  }
}

void Raise(DeviceCharge& charge, const DeviceCharge& phase) {
  charge.compute = std::max(charge.compute, phase.compute);
  charge.memory_mib = std::max(charge.memory_mib, phase.memory_mib);
  DeviceUse& use = charge.use;
  // All slices have one user, so their sum of user ids is a multiple of its id.
  const auto mps = static_cast<std::size_t>(SliceMode::kMps);
  if (phase.use.slices[mps] > use.slices[mps]) use.mps_users = phase.use.mps_users;
  for (std::size_t m = 0; m < kSliceModes; ++m) {
    use.slices[m] = std::max(use.slices[m], phase.use.slices[m]);
  }
  use.mig_slices = MostOfNibbles(use.mig_slices, phase.use.mig_slices);
  use.mig_limits = static_cast<std::uint16_t>(MostOfNibbles(use.mig_limits, phase.use.mig_limits));
}

}  // namespace

void DeviceCharges(const TaskClass& cls, const Slices& slices,
                   std::span<const MigPlacements* const> mig, std::vector<DeviceCharge>& out) {
  out.clear();
  const auto charge_of = [&](std::uint16_t device) -> DeviceCharge& {
    for (DeviceCharge& charge : out) {
      if (charge.device == device) return charge;
    }
    out.push_back({device, 0, 0, {}});
    return out.back();
  };
  const auto kind_of = [&](const Slice& slice) {
    return slice.container < cls.pod.containers.size() ? cls.pod.containers[slice.container].kind
                                                       : ContainerKind::kApp;
  };
  for (const Slice& slice : slices) {
    DeviceCharge& charge = charge_of(slice.device);
    if (kind_of(slice) != ContainerKind::kInit) AddSlice(cls, slice, mig, charge);
  }
  if (cls.init.empty()) return TakeWhole(out);
  // Each init container, on each of its devices, together with the sidecars before it.
  for (const Slice& slice : slices) {
    if (kind_of(slice) != ContainerKind::kInit) continue;
    DeviceCharge phase;
    for (const Slice& other : slices) {
      if (other.device != slice.device) continue;
      const bool earlier_sidecar =
          other.container < slice.container && kind_of(other) == ContainerKind::kSidecar;
      if (other.container == slice.container || earlier_sidecar) {
        AddSlice(cls, other, mig, phase);
      }
    }
    Raise(charge_of(slice.device), phase);
  }
  TakeWhole(out);
}

void BoundedCount::Add(const LimitUse& use, std::int32_t sign) {
  const DomainLimit& limit = use.limit;
  if (limit.of_node()) {
    own_ += sign * limit.own;
    for (const std::uint32_t number : use.shared) {
      auto it = std::lower_bound(
          shared_.begin(), shared_.end(), number,
          [](const Name& name, std::uint32_t other) { return name.number < other; });
      if (it == shared_.end() || it->number != number) it = shared_.insert(it, {number, 0});
      if ((it->tasks += sign) == 0) shared_.erase(it);
    }
    return;
  }
  auto it = std::lower_bound(bounds_.begin(), bounds_.end(), limit.max,
                             [](const Bound& bound, std::int32_t max) { return bound.max < max; });
  if (it == bounds_.end() || it->max != limit.max) it = bounds_.insert(it, {limit.max, 0, 0});
  (limit.counted ? it->counted : it->uncounted) += sign;
  if (it->counted == 0 && it->uncounted == 0) bounds_.erase(it);
}

std::int32_t BoundedCount::total() const {
  std::int32_t sum = 0;
  for (const Bound& bound : bounds_) sum += bound.counted;
  return sum;
}

std::int32_t BoundedCount::Asked(const LimitUse& use) const {
  std::int32_t asked = use.limit.own;
  auto it = shared_.begin();
  for (const std::uint32_t number : use.shared) {
    while (it != shared_.end() && it->number < number) ++it;
    if (it == shared_.end() || it->number != number) ++asked;
  }
  return asked;
}

std::int32_t BoundedCount::Left(const LimitUse& use, std::int32_t places) const {
  const DomainLimit& limit = use.limit;
  if (limit.of_node()) {
    const std::int32_t asked = Asked(use);
    if (places == DomainLimit::kNoBound || asked == 0) return DomainLimit::kNoBound;
    const std::int32_t left = places - taken() - asked;
    if (left < 0) return 0;
    // The names of the first task are there for the next one.
    return limit.own == 0 ? DomainLimit::kNoBound : 1 + left / limit.own;
  }
  if (!limit.counted) return total() <= limit.max ? DomainLimit::kNoBound : limit.max - total();
  return (bounds_.empty() ? limit.max : std::min(limit.max, bounds_.front().max)) - total();
}

ClassId ClassTable::Acquire(const PodTemplate& pod) {
  const std::uint64_t hash = TemplateHash(pod);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    Entry& entry = entries_[it->second.index()];
    if (entry.cls.pod == pod) {
      ++entry.references;
      return it->second;
    }
  }
  const ClassId id = Recycle();
  Entry& entry = entries_[id.index()];
  entry.cls = MakeTaskClass(pod, models_);
  entry.hash = hash;
  entry.references = 1;
  ++entry.generation;
  for (const DomainLimit& limit : pod.limits) {
    entry.cls.limits.push_back(AcquireLimit(limit));
    entry.cls.shared.push_back(AcquireNames(limit.shared));
  }
  by_hash_.emplace(hash, id);
  return id;
}

void ClassTable::CountModels(const ModelKinds& models) {
  models_ = models;
  for (Entry& entry : entries_) {
    TaskClass updated = MakeTaskClass(entry.cls.pod, models_);
    updated.limits = std::move(entry.cls.limits);
    updated.shared = std::move(entry.cls.shared);
    entry.cls = std::move(updated);
  }
}

void ClassTable::Release(ClassId id) {
  Entry& entry = entries_[id.index()];
  TEPHRA_CHECK_OP(entry.references, >, 0u);
  if (--entry.references > 0) return;
  entry.left = ++leavings_;
  unused_.emplace_back(entry.left, id);
}

// Reuses the longest unused id if many are unused; otherwise makes a new id.
ClassId ClassTable::Recycle() {
  while (unused_.size() > kMostUnused) {
    const auto [left, id] = unused_.front();
    unused_.pop_front();
    const Entry& entry = entries_[id.index()];
    if (entry.references > 0 || entry.left != left) continue;  // it is in use again
    Forget(id);
    ++recycled_;
    return id;
  }
  entries_.emplace_back();
  return ClassId(entries_.size() - 1);
}

LimitId ClassTable::AcquireLimit(const DomainLimit& limit) {
  const auto [known, fresh] = limits_.try_emplace(LimitName(limit.group, limit.topology_key));
  if (fresh) {
    if (unused_limits_.empty()) {
      known->second = LimitId(limit_rows_.size());
      limit_rows_.emplace_back();
    } else {
      known->second = unused_limits_.back();
      unused_limits_.pop_back();
    }
    limit_rows_[known->second.index()] = {known->first, limit.topology_key, 0};
  }
  ++limit_rows_[known->second.index()].classes;
  return known->second;
}

std::vector<std::uint32_t> ClassTable::AcquireNames(const std::vector<std::string>& names) {
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : names) {
    const auto [known, fresh] = names_.try_emplace(name);
    if (fresh && unused_names_.empty()) {
      known->second.number = static_cast<std::uint32_t>(names_.size() - 1);
    } else if (fresh) {
      known->second.number = unused_names_.back();
      unused_names_.pop_back();
    }
    ++known->second.uses;
    numbers.push_back(known->second.number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

void ClassTable::ReleaseNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto known = names_.find(name);
    if (--known->second.uses > 0) continue;
    unused_names_.push_back(known->second.number);
    names_.erase(known);
  }
}

// No task has the class any more, so the class counts against no limit.
void ClassTable::Forget(ClassId id) {
  for (const DomainLimit& limit : entries_[id.index()].cls.pod.limits) ReleaseNames(limit.shared);
  for (LimitId limit : entries_[id.index()].cls.limits) {
    Limit& row = limit_rows_[limit.index()];
    if (--row.classes > 0) continue;
    limits_.erase(row.name);
    unused_limits_.push_back(limit);
  }
  const auto [first, last] = by_hash_.equal_range(entries_[id.index()].hash);
  for (auto it = first; it != last; ++it) {
    if (it->second == id) {
      by_hash_.erase(it);
      return;
    }
  }
}

LimitId ClassTable::limit(const std::string& group, const std::string& topology_key) const {
  const auto it = limits_.find(LimitName(group, topology_key));
  return it == limits_.end() ? LimitId() : it->second;
}

}  // namespace tephra
