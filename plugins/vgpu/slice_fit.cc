#include "plugins/vgpu/slice_fit.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "plugins/vgpu/slice_search.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

// How much the node lacks of the demand, in per mille, summed over the kinds that it lacks.
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

// The number of devices that fit the request, at most `enough`.
std::int32_t CountTakers(const NodeView& view, const TaskClass& cls, const DeviceAsk& ask,
                         std::int32_t enough) {
  std::int32_t count = 0;
  for (std::size_t d = 0; d < view.devices.size() && count < enough; ++d) {
    count += CanTake(view, cls, ask.request, d, view.devices[d]);
  }
  return count;
}

// How many tasks with such a request for `count` different devices the node holds: the largest t
// with sum over devices of min(t, shares) >= count * t.
std::int32_t AskCopies(const NodeView& view, const TaskClass& cls, const DeviceAsk& ask) {
  if (ask.request.whole()) {
    return CountTakers(view, cls, ask, std::numeric_limits<std::int32_t>::max()) /
           ask.request.count;
  }
  std::vector<std::int32_t> shares;
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < view.devices.size(); ++d) {
    if (!CanTake(view, cls, ask.request, d, view.devices[d])) continue;
    shares.push_back(RoomFor(view.device(d), ask.request, cls.pod.user_id));
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

// Whole devices chosen by their links, if the links are known and all devices score the same;
// otherwise none. `likings`: by device, none if the device does not fit.
std::optional<Slices> LinkedSet(const NodeView& view, const DeviceAsk& ask,
                                const std::vector<std::optional<Liking>>& likings) {
  if (view.gpu_sets == nullptr || !ask.request.whole()) return std::nullopt;
  GpuMask takers = 0;
  std::optional<Liking> liked;
  for (std::size_t d = 0; d < likings.size(); ++d) {
    if (!likings[d]) continue;
    if (liked && *liked != *likings[d]) return std::nullopt;
    liked = likings[d];
    takers = static_cast<GpuMask>(takers | 1u << d);
  }
  GpuMask set = view.gpu_sets->Best(takers, ask.request.count);
  TEPHRA_CHECK_OP(set, !=, 0);
  Slices slices;
  for (; set != 0; set = static_cast<GpuMask>(set & (set - 1))) {
    const auto device = static_cast<std::uint16_t>(std::countr_zero(set));
    slices.push_back(SliceOf(view.device(device), ask.request, ask.container, device));
  }
  return slices;
}

// Whether some request is for a sharing mode that no device of the node allows.
bool LacksMode(const NodeView& view, const TaskClass& cls) {
  const auto lacks = [&](const DeviceAsk& ask) {
    for (std::size_t d = 0; d < view.devices.size(); ++d) {
      const DeviceState device = view.device(d);
      if (MayServe(device.hardware, device.mig, ask.request)) return false;
    }
    return !view.devices.empty();
  };
  return std::any_of(cls.lasting.begin(), cls.lasting.end(), lacks) ||
         std::any_of(cls.init.begin(), cls.init.end(), lacks);
}

}  // namespace

Fit::Answer SliceFit::Check(const NodeView& view, const TaskClass& cls,
                            std::int32_t limit_room) const {
  bool lacks_gpu = false, lacks = false;
  std::int32_t deficit = Deficit(view.row.free, cls, lacks_gpu, lacks);
  if (limit_room <= 0) return {Misfit::kLimit, deficit + 1000};
  const auto short_of = [&](Misfit misfit, std::int32_t by) -> Answer {
    return {LacksMode(view, cls) ? Misfit::kMode : misfit, by};
  };
  if (lacks_gpu) return short_of(Misfit::kGpu, deficit);
  if (lacks) return {Misfit::kResource, deficit};
  if (!cls.needs_devices()) return {};
  if (cls.single_ask()) {
    const std::int32_t count = cls.lasting[0].request.count;
    const std::int32_t takers = CountTakers(view, cls, cls.lasting[0], count);
    if (takers >= count) return {};
    return short_of(Misfit::kFragmented, std::max(1, (count - takers) * 1000 / count));
  }
  SliceSearch search(view, cls, NoPreference);
  if (search.First()) return {};
  return short_of(Misfit::kFragmented, 500);
}

Slices SliceFit::Choose(const NodeView& view, const TaskClass& cls, std::uint64_t draw) const {
  if (!cls.needs_devices()) return {};
  const auto rate = [&](const DeviceAsk& ask, std::size_t device) {
    return score_.RateDevice(view, cls, ask, static_cast<int>(device), draw);
  };
  if (!cls.single_ask()) {
    SliceSearch search(view, cls, rate);
    auto slices = search.First();
    // After the bound of steps, the order of Check still finds this answer.
    if (!slices) slices = SliceSearch(view, cls, NoPreference).First();
    TEPHRA_CHECK(slices.has_value());
    return *slices;
  }
  const DeviceAsk& ask = cls.lasting[0];
  Slices slices;
  slices.reserve(static_cast<std::size_t>(ask.request.count));
  std::vector<std::optional<Liking>> likings(view.devices.size());
  for (std::size_t d = 0; d < view.devices.size(); ++d) {
    if (!CanTake(view, cls, ask.request, d, view.devices[d])) continue;
    likings[d] = LikingOf(view, ask.request, d, rate(ask, d));
  }
  if (auto linked = LinkedSet(view, ask, likings)) return *std::move(linked);
  for (std::int32_t i = 0; i < ask.request.count; ++i) {
    const auto best = std::max_element(likings.begin(), likings.end());
    TEPHRA_CHECK(best->has_value());
    const auto device = static_cast<std::uint16_t>(best - likings.begin());
    slices.push_back(SliceOf(view.device(device), ask.request, ask.container, device));
    best->reset();
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
    return Sound(view.device(slice.device), cls.pod.user_id) &&
           DeviceAllowed(cls.pod.constraints, view.spec.devices[slice.device]);
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
  // Devices that differ only in their links are one option, and Choose finds the best devices.
  const bool by_links = view.gpu_sets != nullptr && cls.single_ask() && options.size() == 1;
  if (by_links) options.front() = Choose(view, cls, 0);
  return options;
}

}  // namespace tephra
