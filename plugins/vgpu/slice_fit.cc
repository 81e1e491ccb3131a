#include "plugins/vgpu/slice_fit.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "plugins/vgpu/slice_search.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

// By how much the node falls short of the demand in the kinds that it lacks, in per mille.
std::int32_t Deficit(const Resources& free, const TaskClass& cls, bool& lacks_gpu, bool& lacks) {
  std::int64_t deficit = 0;
  for (KindSet kinds = cls.demand_kinds; kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    const std::int64_t missing = cls.demand[k] - free[k];
    if (missing <= 0) continue;
    deficit += std::max<std::int64_t>(1, std::min(missing, kMaxAmount) * 1000 / cls.demand[k]);
    const bool device = k == kGpu || k == kGpuMemory || (cls.model_kinds >> k & 1) != 0;
    (device ? lacks_gpu : lacks) = true;
  }
  return static_cast<std::int32_t>(std::min<std::int64_t>(deficit, 1 << 28));
}

Points NoPreference(const DeviceAsk&, std::size_t) { return 0; }

// Devices that can serve the ask, counted up to `enough`.
std::int32_t CountTakers(const NodeView& view, const TaskClass& cls, const DeviceAsk& ask,
                         std::int32_t enough) {
  std::int32_t count = 0;
  for (std::size_t d = 0; d < view.devices.size() && count < enough; ++d) {
    count += CanTake(view, cls, ask.request, d, view.devices[d]);
  }
  return count;
}

// How many times one device can give the ask's share.
std::int32_t Shares(const DeviceRow& row, const DeviceRequest& request) {
  std::int64_t shares = std::numeric_limits<std::int32_t>::max();
  if (request.compute > 0)
    shares = std::min<std::int64_t>(shares, row.free_compute / request.compute);
  if (request.memory_mib > 0) shares = std::min(shares, row.free_memory_mib / request.memory_mib);
  return static_cast<std::int32_t>(std::max<std::int64_t>(shares, 0));
}

// How many tasks, each with one such ask of `count` different devices, the node's devices serve:
// the largest t with sum over devices of min(t, shares) >= count * t.
std::int32_t AskCopies(const NodeView& view, const TaskClass& cls, const DeviceAsk& ask) {
  if (ask.request.whole()) {
    return CountTakers(view, cls, ask, std::numeric_limits<std::int32_t>::max()) /
           ask.request.count;
  }
  std::vector<std::int32_t> shares;
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < view.devices.size(); ++d) {
    if (!CanTake(view, cls, ask.request, d, view.devices[d])) continue;
    shares.push_back(Shares(view.devices[d], ask.request));
    sum += shares.back();
  }
  std::int64_t low = 0, high = sum / ask.request.count;
  while (low < high) {
    const std::int64_t t = (low + high + 1) / 2;
    std::int64_t served = 0;
    for (std::int32_t s : shares) served += std::min<std::int64_t>(s, t);
    if (served >= ask.request.count * t) {
      low = t;
    } else {
      high = t - 1;
    }
  }
  return static_cast<std::int32_t>(low);
}

// Whole devices by their links, where these are known and the score likes all devices alike; else
// nothing. `points`: of each device, below 0 where it cannot serve.
std::optional<Slices> LinkedSet(const NodeView& view, const DeviceAsk& ask,
                                const std::vector<Points>& points) {
  if (view.gpu_sets == nullptr || !ask.request.whole()) return std::nullopt;
  GpuMask takers = 0;
  std::optional<Points> liked;
  for (std::size_t d = 0; d < points.size(); ++d) {
    if (points[d] < 0) continue;
    if (liked.value_or(points[d]) != points[d]) return std::nullopt;
    liked = points[d];
    takers = static_cast<GpuMask>(takers | 1u << d);
  }
  GpuMask set = view.gpu_sets->Best(takers, ask.request.count);
  TEPHRA_CHECK_OP(set, !=, 0);
  Slices slices;
  for (; set != 0; set = static_cast<GpuMask>(set & (set - 1))) {
    slices.push_back(SliceOf(view, ask, static_cast<std::size_t>(std::countr_zero(set))));
  }
  return slices;
}

}  // namespace

Fit::Answer SliceFit::Check(const NodeView& view, const TaskClass& cls,
                            std::int32_t limit_room) const {
  bool lacks_gpu = false, lacks = false;
  std::int32_t deficit = Deficit(view.row.free, cls, lacks_gpu, lacks);
  if (limit_room <= 0) return {Misfit::kLimit, deficit + 1000};
  if (lacks_gpu) return {Misfit::kGpu, deficit};
  if (lacks) return {Misfit::kResource, deficit};
  if (!cls.needs_devices()) return {};
  if (cls.single_ask()) {
    const std::int32_t count = cls.lasting[0].request.count;
    const std::int32_t takers = CountTakers(view, cls, cls.lasting[0], count);
    if (takers >= count) return {};
    return {Misfit::kFragmented, std::max(1, (count - takers) * 1000 / count)};
  }
  SliceSearch search(view, cls, NoPreference);
  if (search.First()) return {};
  return {Misfit::kFragmented, 500};
}

Slices SliceFit::Choose(const NodeView& view, const TaskClass& cls, std::uint64_t draw) const {
  if (!cls.needs_devices()) return {};
  const auto rate = [&](const DeviceAsk& ask, std::size_t device) {
    return score_.RateDevice(view, cls, ask, static_cast<int>(device), draw);
  };
  if (!cls.single_ask()) {
    SliceSearch search(view, cls, rate);
    auto slices = search.First();
    // Past the bound of steps the order that Check goes by still leads there.
    if (!slices) slices = SliceSearch(view, cls, NoPreference).First();
    TEPHRA_CHECK(slices.has_value());
    return *slices;
  }
  const DeviceAsk& ask = cls.lasting[0];
  Slices slices;
  slices.reserve(static_cast<std::size_t>(ask.request.count));
  std::vector<Points> points(view.devices.size(), -1);
  for (std::size_t d = 0; d < view.devices.size(); ++d) {
    if (CanTake(view, cls, ask.request, d, view.devices[d])) points[d] = rate(ask, d);
  }
  if (auto linked = LinkedSet(view, ask, points)) return *std::move(linked);
  for (std::int32_t i = 0; i < ask.request.count; ++i) {
    const auto best = std::max_element(points.begin(), points.end());
    TEPHRA_CHECK_OP(*best, >=, 0);
    slices.push_back(SliceOf(view, ask, static_cast<std::size_t>(best - points.begin())));
    *best = -1;
  }
  return slices;
}

bool SliceFit::Holds(const NodeView& view, const TaskClass& cls, const Slices& slices,
                     std::int32_t limit_room) const {
  if (limit_room < 0) return false;
  const KindSet devices = 1u << kGpu | 1u << kGpuMemory | cls.model_kinds;
  for (KindSet kinds = cls.demand_kinds & ~devices; kinds != 0; kinds &= kinds - 1) {
    if (view.row.free[static_cast<Kind>(std::countr_zero(kinds))] < 0) return false;
  }
  return std::all_of(slices.begin(), slices.end(), [&](const Slice& slice) {
    if (slice.device >= view.devices.size()) return false;
    const DeviceRow& device = view.devices[slice.device];
    return device.free_compute >= 0 && device.free_memory_mib >= 0 &&
           (slice.mode != SliceMode::kWhole || device.users == 1) &&
           ModelAllowed(cls.pod.constraints.device_models, view.spec.devices[slice.device].model);
  });
}

std::int32_t SliceFit::Copies(const NodeView& view, const TaskClass& cls,
                              std::int32_t limit_room) const {
  std::int64_t copies = limit_room;
  for (KindSet kinds = cls.demand_kinds; kinds != 0; kinds &= kinds - 1) {
    const Kind k = static_cast<Kind>(std::countr_zero(kinds));
    copies = std::min(copies, view.row.free[k] / cls.demand[k]);
  }
  for (const DeviceAsk& ask : cls.lasting) {
    if (copies <= 0) return 0;
    copies = std::min<std::int64_t>(copies, AskCopies(view, cls, ask));
  }
  for (const DeviceAsk& ask : cls.init) {
    if (copies <= 0) return 0;
    copies = std::min<std::int64_t>(copies, AskCopies(view, cls, ask));
  }
  return static_cast<std::int32_t>(std::max<std::int64_t>(copies, 0));
}

std::vector<Slices> SliceFit::Options(const NodeView& view, const TaskClass& cls) const {
  if (!cls.needs_devices()) return {Slices{}};
  SliceSearch search(view, cls, [&](const DeviceAsk& ask, std::size_t device) {
    return score_.RateDevice(view, cls, ask, static_cast<int>(device), 0);
  });
  std::vector<Slices> options = search.All();
  // Devices that differ in nothing but their links: one option, and Choose knows the best of it.
  const bool by_links = view.gpu_sets != nullptr && cls.single_ask() && options.size() == 1;
  if (by_links) options.front() = Choose(view, cls, 0);
  return options;
}

}  // namespace tephra
