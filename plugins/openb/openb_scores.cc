#include "plugins/openb/openb_scores.h"

#include <algorithm>
#include <vector>

#include "topology/base/hash.h"

namespace tephra {
namespace {

// The largest node of the trace, by which the experiment scales: 128 CPUs and 8 GPUs.
constexpr double kMostCpu = 128000;
constexpr double kMostGpu = 8000;

// Rounds down to whole points, as the published simulator does. Larger nodes than the trace has are
// clamped to 0 to 100.
Points WholePoints(double points) {
  return static_cast<Points>(std::clamp(points, 0.0, 100.0)) * kPoint;
}

// REQUIRES: at most one container requests devices, as everywhere in the experiment.
struct GpuWish {
  std::int64_t count = 0;
  std::int64_t compute = 0;
};

GpuWish WishOf(const TaskClass& cls) {
  if (cls.lasting.empty()) return {};
  return {cls.lasting[0].request.count, cls.lasting[0].request.compute};
}

}  // namespace

Points TightestDevice::RateDevice(const NodeView& view, const TaskClass&, const DeviceAsk&,
                                  int device, std::uint64_t) const {
  const std::int32_t free = view.devices[static_cast<std::size_t>(device)].free_compute;
  return static_cast<Points>(kWholeGpu - std::clamp<std::int64_t>(free, 0, kWholeGpu)) * kPoint /
         10;
}

Points RandomScore::RateDevice(const NodeView& view, const TaskClass&, const DeviceAsk& ask,
                               int device, std::uint64_t draw) const {
  if (ask.request.whole()) return 0;
  (void)view;
  return static_cast<Points>(Mix(draw, static_cast<std::uint64_t>(device)) % kMaxPoints);
}

Points DotProduct::Rate(const NodeView& view, const TaskClass& cls) const {
  const double cpu = (static_cast<double>(view.row.free[kCpu]) / kMostCpu) *
                     (static_cast<double>(cls.demand[kCpu]) / kMostCpu);
  const double gpu = (static_cast<double>(view.row.free[kGpu]) / kMostGpu) *
                     (static_cast<double>(cls.demand[kGpu]) / kMostGpu);
  return WholePoints(100 * (1 - (cpu + gpu) / 2));
}

Points GpuClustering::Rate(const NodeView& view, const TaskClass& cls) const {
  const int size = GpuSizeOf(cls);
  if (size < 0) return 0;
  const std::int64_t most = static_cast<std::int64_t>(kMostGpu);
  const std::int64_t base = 25 * (most - view.row.free[kGpu]) / most;
  int kinds = 0;
  for (std::uint16_t count : view.row.gpu_tasks) kinds += count > 0;
  const bool same = view.row.gpu_tasks[static_cast<std::size_t>(size)] > 0;
  std::int64_t extra = 0;
  if (same) {
    extra = kinds == 1 ? 75 : 50;
  } else if (kinds == 0) {
    extra = 25;
  }
  return static_cast<Points>(std::max<std::int64_t>(base + extra, 0)) * kPoint;
}

Points GpuPacking::Rate(const NodeView& view, const TaskClass& cls) const {
  const GpuWish wish = WishOf(cls);
  if (wish.count == 0) return 0;
  std::int64_t idle = 0;
  for (const DeviceRow& row : view.devices) idle += row.free_compute == kWholeGpu;
  if (idle == static_cast<std::int64_t>(view.devices.size())) {
    return static_cast<Points>(std::max<std::int64_t>(33 - idle, idle)) * kPoint;
  }
  // The fullest devices that fit, as the allocation would take them.
  std::vector<std::int64_t> free;
  for (const DeviceRow& row : view.devices) {
    if (row.free_compute >= wish.compute) free.push_back(row.free_compute);
  }
  std::sort(free.begin(), free.end());
  std::int64_t idle_used = 0, percent_free = 0;
  for (std::int64_t i = 0;
       i < std::min<std::int64_t>(wish.count, static_cast<std::int64_t>(free.size())); ++i) {
    idle_used += free[static_cast<std::size_t>(i)] == kWholeGpu;
    percent_free += free[static_cast<std::size_t>(i)] * 100 / kWholeGpu;
  }
  const std::int64_t points = idle_used > 0 ? std::max<std::int64_t>(50 - idle_used, 33)
                                            : std::max<std::int64_t>(100 - percent_free / 10, 50);
  return static_cast<Points>(points) * kPoint;
}

// The published policy then stretches the points of all feasible nodes to 0..100, which does not
// change which node is the best.
Points BestFit::Rate(const NodeView& view, const TaskClass& cls) const {
  double left = 0;
  left += static_cast<double>(view.row.free[kCpu] - cls.demand[kCpu]) / kMostCpu * 0.5;
  left += static_cast<double>(view.row.free[kGpu] - cls.demand[kGpu]) / kMostGpu * 0.5;
  return WholePoints((1.0 - left) * 100);
}

}  // namespace tephra
