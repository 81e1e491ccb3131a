#include "plugins/node/binding/reserved_gpus.h"

#include <algorithm>

namespace tephra::node {
namespace {

// Whether a container of the same pod that may run beside it has the device.
bool RunsBeside(const Holding& wanted, std::size_t gpu, const Books& books) {
  return std::any_of(books.all().begin(), books.all().end(), [&](const auto& known) {
    const Holding& other = known.second;
    if (other.grant.holder.pod_uid != wanted.grant.holder.pod_uid) return false;
    if (other.grant.holder.nonce == wanted.grant.holder.nonce) return false;
    if (other.init || wanted.init) return false;
    return std::any_of(other.grant.slices.begin(), other.grant.slices.end(),
                       [&](const GrantedSlice& slice) { return slice.gpu == gpu; });
  });
}

}  // namespace

absl::StatusOr<std::vector<GrantedSlice>> ChooseReservedGpus(const Holding& wanted, std::size_t count,
                                                         const Books& books, const Gpus& gpus) {
  std::size_t usable = 0;
  std::vector<GrantedSlice> chosen;
  for (std::size_t i = 0; i < gpus.devices.size(); ++i) {
    const Gpu& gpu = gpus.devices[i];
    if (!gpu.reserved || !gpu.hardware.healthy) continue;
    ++usable;
    Holding tried = wanted;
    GrantedSlice slice;
    slice.gpu = i;
    slice.compute = kNoFactor;
    slice.memory_mib = gpu.hardware.memory_mib;
    tried.grant.slices = {slice};
    if (chosen.size() == count || RunsBeside(wanted, i, books)) continue;
    if (books.Fits(tried, gpus).ok()) chosen.push_back(slice);
  }
  const std::string asked = std::to_string(count) + " asked for";
  if (usable < count) {
    return absl::FailedPreconditionError(std::to_string(usable) +
                                         " healthy GPUs of this node are reserved for pods of "
                                         "other schedulers, " +
                                         asked);
  }
  if (chosen.size() < count) {
    return absl::UnavailableError(std::to_string(chosen.size()) + " of " + std::to_string(usable) +
                                  " GPUs that are reserved for pods of other schedulers are "
                                  "free, " +
                                  asked);
  }
  return chosen;
}

}  // namespace tephra::node
