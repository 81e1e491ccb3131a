#include "plugins/stranding/stranding.h"

#include <algorithm>
#include <array>
#include <optional>

#include "topology/base/check.h"

namespace tephra {
namespace {

// README.md says how these were chosen.
constexpr double kRoom = 0.6;       // worth of a device of room that is wholly scarce
constexpr double kUnbroken = 0.01;  // worth of each device of an idle node, whatever is expected

constexpr std::size_t kMostDrawn = 32;  // kinds of pods that are drawn

// Strictly rising for any gain. In the middle, one point step is a 125,000th of a device.
Points PointsOf(double gain) {
  const double size = gain < 0 ? -gain : gain;
  return static_cast<Points>(kMaxPoints / 2 * (1 + gain / (4 + size)));
}

// The expected pods that may use the model, equal kinds together; null: a model that no pod names.
std::vector<Drawn> DrawnOn(const std::vector<ExpectedPod>& expected, const Scarcity& scarcity,
                           const std::string* model) {
  double asked = 0;
  for (const ExpectedPod& pod : expected) asked += pod.share * pod.devices * pod.compute;
  std::vector<Drawn> drawn;
  for (std::size_t p = 0; p < expected.size(); ++p) {
    const ExpectedPod& pod = expected[p];
    if (!NeedsDevices(pod)) continue;
    if (!pod.models.empty() && !(model && ModelAllowed(pod.models, *model))) continue;
    const PodKind kind = PodKind::Of(pod);
    auto same = std::find_if(drawn.begin(), drawn.end(),
                             [&](const Drawn& each) { return each.pod == kind; });
    if (same == drawn.end()) same = drawn.insert(drawn.end(), {kind, 0, 0});
    same->rate += pod.share * pod.devices * pod.compute / asked;
    same->weight += kRoom * scarcity[p];
  }
  return drawn;
}

// The kinds with the highest rates are drawn for all.
void LimitDrawn(std::vector<Drawn>& drawn) {
  if (drawn.size() <= kMostDrawn) return;
  std::stable_sort(drawn.begin(), drawn.end(),
                   [](const Drawn& a, const Drawn& b) { return a.rate > b.rate; });
  double all = 0, most = 0;
  for (std::size_t d = 0; d < drawn.size(); ++d) {
    all += drawn[d].rate;
    if (d < kMostDrawn) most += drawn[d].rate;
  }
  for (std::size_t d = 0; d < drawn.size(); ++d) {
    drawn[d].rate = d < kMostDrawn ? drawn[d].rate * all / most : 0;
  }
}

Futures FuturesOn(const std::vector<ExpectedPod>& expected, const Scarcity& scarcity,
                  const std::string* model) {
  std::vector<Drawn> drawn = DrawnOn(expected, scarcity, model);
  LimitDrawn(drawn);
  return Futures(drawn);
}

// Per mille of the device that is still free: the lesser of compute and memory. Below 1000 if the
// device is in use.
std::int32_t FreeOf(const NodeView& view, std::size_t device, const DeviceRow& row) {
  std::int64_t free = row.free_compute;
  if (row.users() > 0) {
    // An unused device does not need its description, which is a cache miss away.
    const std::int64_t memory = view.spec.devices[device].memory_mib;
    if (memory > 0) free = std::min(free, row.free_memory_mib * kWholeGpu / memory);
    free = std::min(free, kWholeGpu - 1);
  }
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(free, 0, kWholeGpu));
}

}  // namespace

// A copy of a node's free amounts, to try changes on.
class Stranding::Trial {
 public:
  explicit Trial(const NodeView& view) : cpu(view.row.free[kCpu]), size_(view.devices.size()) {
    if (size_ > few_.size()) many_.resize(size_);
    std::copy(view.devices.begin(), view.devices.end(), rows().begin());
  }
  std::span<DeviceRow> rows() { return {many_.empty() ? few_.data() : many_.data(), size_}; }
  std::span<const DeviceRow> rows() const {
    return {many_.empty() ? few_.data() : many_.data(), size_};
  }

  std::int32_t Free(const NodeView& view, std::size_t device) const {
    return FreeOf(view, device, rows()[device]);
  }
  bool Takes(const NodeView& view, const TaskClass& cls, const DeviceRequest& request,
             std::size_t device) const {
    return CanTake(view, cls, request, device, rows()[device]);
  }
  // Whether an earlier device is equal.
  bool Seen(const NodeView& view, std::size_t device) const {
    for (std::size_t d = 0; d < device; ++d) {
      const DeviceHardware &a = view.spec.devices[d], &b = view.spec.devices[device];
      const bool alike = !view.mixed_models || SameHardware(a, b);
      if (rows()[d] == rows()[device] && a.memory_mib == b.memory_mib && alike) return true;
    }
    return false;
  }
  void Take(const NodeView& view, const TaskClass& cls, const DeviceRequest& request,
            std::size_t device) {
    DeviceRow& row = rows()[device];
    const DeviceState state = view.device(device, row);
    const Slice slice = SliceOf(state, request, 0, static_cast<std::uint16_t>(device));
    row.free_compute -= slice.compute;
    row.free_memory_mib -= slice.memory_mib;
    row.use.Add(UseOf(slice, state.mig, cls.pod.user_id), +1);
  }

  std::int64_t cpu;

 private:
  std::size_t size_;
  std::array<DeviceRow, 16> few_;  // avoids the heap for up to 16 devices
  std::vector<DeviceRow> many_;
};

bool Stranding::Foresees(const std::vector<ExpectedPod>& expected) {
  return std::any_of(expected.begin(), expected.end(), NeedsDevices);
}

Stranding::Stranding(const std::vector<ExpectedPod>& expected, const Scarcity& scarcity)
    : unnamed_(FuturesOn(expected, scarcity, nullptr)) {
  TEPHRA_CHECK(Foresees(expected) && scarcity.size() == expected.size());
  for (const ExpectedPod& pod : expected) {
    for (const std::string& name : pod.models) {
      const bool known = std::any_of(models_.begin(), models_.end(),
                                     [&](const auto& model) { return model.first == name; });
      if (!known) models_.emplace_back(name, FuturesOn(expected, scarcity, &name));
    }
  }
}

const Futures& Stranding::FuturesOf(const NodeView& view) const {
  if (!view.spec.devices.empty()) {
    for (const auto& [name, futures] : models_) {
      if (name == view.spec.devices[0].model) return futures;
    }
  }
  return unnamed_;
}

double Stranding::Worth(const NodeView& view, const Trial& trial) const {
  const Futures& futures = FuturesOf(view);
  const auto cpu = static_cast<double>(trial.cpu);
  std::int64_t idle = 0, free = 0;
  std::int32_t largest = 0;
  double worth = 0;
  for (std::size_t d = 0; d < trial.rows().size(); ++d) {
    const std::int32_t has = trial.Free(view, d);
    free += has;
    if (has == kWholeGpu) {
      ++idle;
      continue;
    }
    const std::int32_t percent = has / 10;
    worth -= has % 10 / 1000.0;
    // All partly used devices but the largest count as if filled separately.
    const std::int32_t lesser = std::min(percent, largest);
    if (lesser > 0) worth += futures.Worth(0, lesser, cpu);
    largest = std::max(percent, largest);
  }
  if (free == 0) return 0;
  const double devices = static_cast<double>(free) / static_cast<double>(kWholeGpu);
  return worth + futures.Worth(idle, largest, cpu) + UnbrokenWorth(devices, trial.rows().size());
}

double Stranding::UnbrokenWorth(double idle, std::size_t devices) {
  return devices == 0 ? 0 : kUnbroken * idle * idle / static_cast<double>(devices);
}

// Takes the device after which the node is worth most, if any device fits.
void Stranding::PlaceShare(const NodeView& view, const TaskClass& cls, const DeviceRequest& request,
                           Trial& trial) const {
  std::optional<std::size_t> best;
  double most = 0;
  for (std::size_t d = 0; d < trial.rows().size(); ++d) {
    if (!trial.Takes(view, cls, request, d) || trial.Seen(view, d)) continue;
    const DeviceRow before = trial.rows()[d];
    trial.Take(view, cls, request, d);
    const double worth = Worth(view, trial);
    trial.rows()[d] = before;
    if (!best || worth > most) best = d, most = worth;
  }
  if (best) trial.Take(view, cls, request, *best);
}

// A shortcut for nodes without partly used devices and requests for whole devices or none: counting
// is enough. None if the shortcut does not apply; the general way gives the same points.
std::optional<Points> Stranding::RateWhole(const NodeView& view, const TaskClass& cls) const {
  if (cls.needs_devices() && !(cls.single_ask() && cls.lasting[0].request.whole())) return {};
  const std::int32_t count = cls.needs_devices() ? cls.lasting[0].request.count : 0;
  std::int64_t idle = 0;
  std::int32_t takers = 0;
  for (std::size_t d = 0; d < view.devices.size(); ++d) {
    const std::int32_t free = FreeOf(view, d, view.devices[d]);
    if (free == 0) continue;
    if (free != kWholeGpu) return {};
    ++idle;
    if (takers == count) continue;
    takers += CanTake(view, cls, cls.lasting[0].request, d, view.devices[d]);
  }
  if (takers < count) return {};
  const Futures& futures = FuturesOf(view);
  const auto worth = [&](std::int64_t devices, std::int64_t cpu) {
    return futures.Worth(devices, 0, static_cast<double>(cpu)) +
           UnbrokenWorth(static_cast<double>(devices), view.devices.size());
  };
  const std::int64_t cpu = view.row.free[kCpu];
  const double before = worth(idle, cpu);
  const double after = worth(idle - count, cpu - cls.demand[kCpu]);
  return PointsOf(after - before);
}

Points Stranding::Rate(const NodeView& view, const TaskClass& cls) const {
  if (const auto points = RateWhole(view, cls)) return *points;
  Trial trial(view);
  const double before = Worth(view, trial);
  trial.cpu -= cls.demand[kCpu];
  for (const DeviceAsk& ask : cls.lasting) {
    std::int32_t more = ask.request.count;
    if (!ask.request.whole()) {
      for (; more > 0; --more) PlaceShare(view, cls, ask.request, trial);
    }
    for (std::size_t d = 0; d < trial.rows().size() && more > 0; ++d) {
      if (!trial.Takes(view, cls, ask.request, d)) continue;
      trial.Take(view, cls, ask.request, d);
      --more;
    }
  }
  return PointsOf(Worth(view, trial) - before);
}

Points Stranding::RateDevice(const NodeView& view, const TaskClass& cls, const DeviceAsk& ask,
                             int device, std::uint64_t) const {
  if (ask.request.whole()) return 0;
  const auto index = static_cast<std::size_t>(device);
  Trial trial(view);
  const double before = Worth(view, trial);
  trial.cpu -= cls.demand[kCpu];
  trial.Take(view, cls, ask.request, index);
  return PointsOf(Worth(view, trial) - before);
}

}  // namespace tephra
