#include "plugins/links/links_score.h"

#include <cstddef>

namespace tephra {
namespace {

// The speed that scores half of all points: between PCIe (12 GB/s) and one NVLink (18 GB/s and
// more).
constexpr std::int64_t kHalfMbPerS = 100'000;

}  // namespace

Points LinksScore::Rate(const NodeView& view, const TaskClass& cls) const {
  if (view.gpu_sets == nullptr || !cls.single_ask()) return 0;
  const DeviceRequest& request = cls.lasting[0].request;
  if (!request.whole() || request.count < 2) return 0;
  GpuMask takers = 0;
  for (std::size_t d = 0; d < view.devices.size(); ++d) {
    if (CanTake(view, cls, request, d, view.devices[d])) {
      takers = static_cast<GpuMask>(takers | 1u << d);
    }
  }
  const std::int64_t speed =
      view.gpu_sets->SlowestLinkMbPerS(view.gpu_sets->Best(takers, request.count));
  return static_cast<Points>(kMaxPoints * speed / (speed + kHalfMbPerS));
}

}  // namespace tephra
