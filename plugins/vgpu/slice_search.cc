#include "plugins/vgpu/slice_search.h"

#include <algorithm>
#include <numeric>

namespace tephra {

bool CanTake(const NodeView& view, const TaskClass& cls, const DeviceRequest& request,
             std::size_t device, const DeviceRow& row) {
  const bool room = request.whole()
                        ? row.users == 0 && row.free_compute >= kWholeGpu
                        : row.free_compute >= request.compute &&
                              row.free_memory_mib >= request.memory_mib && row.free_compute >= 0;
  return room && (!view.mixed_models ||
                  ModelAllowed(cls.pod.constraints.device_models, view.spec.devices[device].model));
}

Slice SliceOf(const NodeView& view, const DeviceAsk& ask, std::size_t device) {
  const bool whole = ask.request.whole();
  return {ask.container, static_cast<std::uint16_t>(device),
          whole ? SliceMode::kWhole : SliceMode::kFraction, ask.request.compute,
          whole ? view.spec.devices[device].memory_mib : ask.request.memory_mib};
}

SliceSearch::SliceSearch(const NodeView& view, const TaskClass& cls, Rating rate)
    : view_(view), cls_(cls), rows_(view.devices.begin(), view.devices.end()) {
  const auto order = [&](const DeviceAsk& ask) {
    std::vector<std::size_t> devices(rows_.size());
    std::iota(devices.begin(), devices.end(), 0);
    std::vector<Points> points;
    for (std::size_t d : devices) points.push_back(rate(ask, d));
    std::stable_sort(devices.begin(), devices.end(),
                     [&](std::size_t a, std::size_t b) { return points[a] > points[b]; });
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

// Equal now and equal before the task: any later step treats them the same.
bool SliceSearch::Alike(std::size_t a, std::size_t b) const {
  return rows_[a] == rows_[b] && view_.devices[a] == view_.devices[b] &&
         view_.spec.devices[a].memory_mib == view_.spec.devices[b].memory_mib &&
         (!view_.mixed_models || view_.spec.devices[a].model == view_.spec.devices[b].model) &&
         !Held(a) && !Held(b);
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
    const Slice slice = SliceOf(view_, ask, device);
    const DeviceRow before = rows_[device];
    rows_[device] = {before.free_compute - slice.compute, before.free_memory_mib - slice.memory_mib,
                     before.users + 1};
    slices_.push_back(slice);
    const bool done = PlaceUnit(index, unit + 1, i + 1);
    slices_.pop_back();
    rows_[device] = before;
    if (done) return true;
  }
  return false;
}

// What the device has for an init container: its room before this task, less what the sidecars
// started earlier hold.
DeviceRow SliceSearch::Beside(const DeviceAsk& init, std::size_t device) const {
  DeviceRow row = view_.devices[device];
  for (const Slice& slice : slices_) {
    if (slice.device != device || slice.container >= init.container) continue;
    if (cls_.pod.containers[slice.container].kind != ContainerKind::kSidecar) continue;
    row.free_compute -= slice.compute;
    row.free_memory_mib -= slice.memory_mib;
    ++row.users;
  }
  return row;
}

// Init containers run one after the other: each alone must find its devices, first among those
// that the task holds anyway.
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
    if (!CanTake(view_, cls_, ask.request, devices[i], Beside(ask, devices[i]))) continue;
    const bool seen = std::any_of(devices.begin() + static_cast<std::ptrdiff_t>(from),
                                  devices.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](std::size_t tried) { return Alike(tried, devices[i]); });
    if (seen) continue;
    slices_.push_back(SliceOf(view_, ask, devices[i]));
    const bool done = PlaceInitUnit(index, unit + 1, i + 1, devices);
    slices_.pop_back();
    if (done) return true;
  }
  return false;
}

bool SliceSearch::Held(std::size_t device) const {
  return std::any_of(slices_.begin(), slices_.end(),
                     [&](const Slice& slice) { return slice.device == device; });
}

}  // namespace tephra
