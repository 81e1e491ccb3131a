#include "plugins/vgpu/slice_search.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tephra {

Liking LikingOf(const NodeView& view, const DeviceRequest& request, std::size_t device,
                Points points) {
  Liking liking{false, 0, points};
  if (request.sharing != Sharing::kMig) return liking;
  const DeviceState state = view.device(device);
  if (!MayServe(state.hardware, state.mig, request)) return liking;
  const MigTaken taken = MigTakenOf(state.row.use, *state.mig);
  const int profile = FindMigProfile(state.mig->model(), request.mig_profile);
  const std::optional<int> start = state.mig->Choose(taken, profile);
  if (!start) return liking;
  const MigTaken footprint =
      MigFootprint(state.mig->model().profiles[static_cast<std::size_t>(profile)], *start);
  liking.cut = taken != 0;
  liking.spared =
      state.mig->Worth(static_cast<MigTaken>(taken | footprint)) - state.mig->Worth(taken);
  return liking;
}

SliceSearch::SliceSearch(const NodeView& view, const TaskClass& cls, Rating rate)
    : view_(view), cls_(cls), rows_(view.devices.begin(), view.devices.end()) {
  const auto order = [&](const DeviceAsk& ask) {
    std::vector<std::size_t> devices(rows_.size());
    std::iota(devices.begin(), devices.end(), 0);
    std::vector<Liking> liked;
    for (std::size_t d : devices) {
      const DeviceState device = view.device(d);
      const bool may = MayServe(device.hardware, device.mig, ask.request);
      liked.push_back(LikingOf(view, ask.request, d, may ? rate(ask, d) : 0));
    }
    std::stable_sort(devices.begin(), devices.end(),
                     [&](std::size_t a, std::size_t b) { return liked[a] > liked[b]; });
    return devices;
  };
  for (const DeviceAsk& ask : cls.lasting) by_rating_.push_back(order(ask));
  for (const DeviceAsk& ask : cls.init) init_by_rating_.push_back(order(ask));
}

std::optional<Slices> SliceSearch::First() {
  stop_at_first_ = true;
  if (!PlaceAsk(0)) return std::nullopt;
  return found_.front();
}

std::vector<Slices> SliceSearch::All() {
  stop_at_first_ = false;
  PlaceAsk(0);
  return std::move(found_);
}

// Whether two devices are equal now and were equal before the task, so that later steps treat them
// the same.
bool SliceSearch::Alike(std::size_t a, std::size_t b) const {
  const DeviceHardware &p = view_.spec.devices[a], &q = view_.spec.devices[b];
  return rows_[a] == rows_[b] && view_.devices[a] == view_.devices[b] &&
         p.memory_mib == q.memory_mib && (!view_.mixed_models || SameHardware(p, q)) &&
         (!cls_.names_devices || MayHave(view_, cls_, a) == MayHave(view_, cls_, b)) && !Held(a) &&
         !Held(b);
}

// The possible slices of the device: one, or for a MIG instance one per place, the best first.
Slices SliceSearch::WaysToGive(const DeviceAsk& ask, std::size_t device,
                               const DeviceRow& row) const {
  const DeviceState state = view_.device(device, row);
  Slices ways{SliceOf(state, ask.request, ask.container, static_cast<std::uint16_t>(device))};
  if (ask.request.sharing != Sharing::kMig) return ways;
  const Slice best = ways.front();
  const unsigned starts = state.mig->FreeStarts(MigTakenOf(row.use, *state.mig), best.mig_profile);
  for (unsigned left = starts & ~(1u << best.mig_start); left != 0; left &= left - 1) {
    ways.push_back(best);
    ways.back().mig_start = static_cast<std::uint8_t>(std::countr_zero(left));
  }
  return ways;
}

void SliceSearch::Add(const Slice& slice, DeviceRow& row) const {
  row.free_compute -= slice.compute;
  row.free_memory_mib -= slice.memory_mib;
  row.use.Add(UseOf(slice, view_.device(slice.device).mig, cls_.pod.user_id), +1);
}

bool SliceSearch::PlaceAsk(std::size_t ask) {
  if (ask == cls_.lasting.size()) return PlaceInit(0);
  return PlaceUnit(ask, 0, 0);
}

bool SliceSearch::PlaceUnit(std::size_t index, std::int32_t unit, std::size_t from) {
  const DeviceAsk& ask = cls_.lasting[index];
  if (unit == ask.request.count) return PlaceAsk(index + 1);
  const std::vector<std::size_t>& devices = by_rating_[index];
  for (std::size_t i = from; i < devices.size(); ++i) {
    const std::size_t device = devices[i];
    if (++steps_ > kMostSteps) return false;
    if (!CanTake(view_, cls_, ask.request, device, rows_[device])) continue;
    const bool seen = std::any_of(devices.begin() + static_cast<std::ptrdiff_t>(from),
                                  devices.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](std::size_t tried) { return Alike(tried, device); });
    if (seen) continue;
    const DeviceRow before = rows_[device];
    for (const Slice& slice : WaysToGive(ask, device, before)) {
      Add(slice, rows_[device]);
      slices_.push_back(slice);
      const bool done = PlaceUnit(index, unit + 1, i + 1);
      slices_.pop_back();
      rows_[device] = before;
      if (done) return true;
    }
  }
  return false;
}

// The room of the device for an init container: its room before this task, minus the sidecars that
// started earlier.
DeviceRow SliceSearch::Beside(const DeviceAsk& init, std::size_t device) const {
  DeviceRow row = view_.devices[device];
  for (const Slice& slice : slices_) {
    if (slice.device != device || slice.container >= init.container) continue;
    if (cls_.pod.containers[slice.container].kind != ContainerKind::kSidecar) continue;
    Add(slice, row);
  }
  return row;
}

// Init containers run one after another, so each must fit alone. Devices that the task holds anyway
// come first.
bool SliceSearch::PlaceInit(std::size_t index) {
  if (index == cls_.init.size()) {
    found_.push_back(slices_);
    return stop_at_first_;
  }
  std::vector<std::size_t> devices = init_by_rating_[index];
  std::stable_partition(devices.begin(), devices.end(), [&](std::size_t d) { return Held(d); });
  return PlaceInitUnit(index, 0, 0, devices);
}

bool SliceSearch::PlaceInitUnit(std::size_t index, std::int32_t unit, std::size_t from,
                                const std::vector<std::size_t>& devices) {
  const DeviceAsk& ask = cls_.init[index];
  if (unit == ask.request.count) return PlaceInit(index + 1);
  for (std::size_t i = from; i < devices.size(); ++i) {
    if (++steps_ > kMostSteps) return false;
    const DeviceRow beside = Beside(ask, devices[i]);
    if (!CanTake(view_, cls_, ask.request, devices[i], beside)) continue;
    if (InAnotherMode(devices[i], ask.request.mode())) continue;
    const bool seen = std::any_of(devices.begin() + static_cast<std::ptrdiff_t>(from),
                                  devices.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](std::size_t tried) { return Alike(tried, devices[i]); });
    if (seen) continue;
    for (const Slice& slice : WaysToGive(ask, devices[i], beside)) {
      slices_.push_back(slice);
      const bool done = PlaceInitUnit(index, unit + 1, i + 1, devices);
      slices_.pop_back();
      if (done) return true;
    }
  }
  return false;
}

bool SliceSearch::Held(std::size_t device) const {
  return std::any_of(slices_.begin(), slices_.end(),
                     [&](const Slice& slice) { return slice.device == device; });
}

// Whether the task holds the device in a mode that excludes this one. A device keeps its mode while
// the task holds it. Only the hook library can give one container the whole device and another a
// fraction of it at another time.
bool SliceSearch::InAnotherMode(std::size_t device, SliceMode mode) const {
  const auto by_hook = [](SliceMode m) {
    return m == SliceMode::kWhole || m == SliceMode::kFraction;
  };
  return std::any_of(slices_.begin(), slices_.end(), [&](const Slice& slice) {
    return slice.device == device && slice.mode != mode && !(by_hook(slice.mode) && by_hook(mode));
  });
}

}  // namespace tephra
