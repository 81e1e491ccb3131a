#include "plugins/node/metrics/use.h"

#include <chrono>

#include "plugins/node/metrics/process_owner.h"
#include "plugins/node/metrics/shared_region.h"

namespace tephra::node {
namespace {

constexpr int kMibShift = 20;
// The driver takes samples several times a second and keeps those of some seconds.
constexpr std::chrono::seconds kSamplesOf(2);

template <class T>
void Add(std::optional<T>& sum, T amount) {
  sum = sum.value_or(0) + amount;
}

// One card's processes, each counted for the container that it is of.
class CardUse {
 public:
  CardUse(const UseSettings& settings, std::size_t gpu,
          const std::map<std::string, Holding>& holdings, UseNow& use)
      : settings_(settings), gpu_(gpu), use_(use) {
    for (const auto& [nonce, holding] : holdings) {
      for (const GrantedSlice& slice : holding.grant.slices) {
        if (slice.gpu == gpu)
          holders_.emplace(nonce, Holder{holding.grant.holder.pod_uid, slice.mode});
      }
    }
  }

  // A whole card that one container alone holds: what the card uses is what it uses, whichever its
  // processes are.
  bool OfOne() {
    if (holders_.size() != 1) return false;
    const auto& [nonce, holder] = *holders_.begin();
    if (holder.mode != SliceMode::kWhole) return false;
    use_.slices[{nonce, gpu_}] = use_.gpus[gpu_];
    return true;
  }

  void OfProcesses(const Nvml& nvml, NvmlDevice device) {
    const auto processes = nvml.Processes(device);
    const auto since = std::chrono::system_clock::now() - kSamplesOf;
    const auto uses = nvml.ProcessUses(
        device, static_cast<std::uint64_t>(
                    std::chrono::duration_cast<std::chrono::microseconds>(since.time_since_epoch())
                        .count()));
    for (const auto& [nonce, holder] : holders_) {
      Used& used = use_.slices[{nonce, gpu_}];
      if (processes.ok()) used.memory_bytes = 0;
      if (uses.ok()) used.compute_percent = 0;
    }
    if (processes.ok()) {
      for (const NvmlProcess& process : *processes) {
        Used* const used = Of(process.pid);
        if (used != nullptr && process.memory_mib) {
          Add(used->memory_bytes, *process.memory_mib << kMibShift);
        }
      }
    }
    if (!uses.ok()) return;
    for (const NvmlProcessUse& process : *uses) {
      if (Used* const used = Of(process.pid)) Add(used->compute_percent, process.compute_percent);
    }
  }

  // In the place of the driver's figures: they are what the limits are held against.
  void OfLibrary(const std::string& uuid) {
    for (const auto& [nonce, holder] : holders_) {
      if (holder.mode != SliceMode::kFraction) continue;
      const auto region =
          ReadSharedRegion(settings_.hook_folder + "/" + nonce + "/" + nonce + ".cache");
      if (!region.ok()) continue;
      const auto found = region->find(uuid);
      if (found == region->end()) continue;
      use_.slices[{nonce, gpu_}] = {found->second.memory_bytes, found->second.compute_percent};
    }
  }

 private:
  // Null: the process is of no container that has this GPU, or it is not known of which.
  Used* Of(unsigned pid) {
    const ProcessOwner owner = OwnerOf(settings_.proc, pid);
    if (holders_.count(owner.nonce) > 0) return &use_.slices[{owner.nonce, gpu_}];
    Used* only = nullptr;
    for (const auto& [nonce, holder] : holders_) {
      if (owner.pod_uid.empty() || holder.pod_uid != owner.pod_uid) continue;
      if (only != nullptr) return nullptr;
      only = &use_.slices[{nonce, gpu_}];
    }
    return only;
  }

  const UseSettings& settings_;
  const std::size_t gpu_;
  UseNow& use_;
  struct Holder {
    std::string pod_uid;
    SliceMode mode;
  };
  std::map<std::string, Holder> holders_;  // by nonce
};

}  // namespace

UseNow ReadUse(const UseSettings& settings, const Nvml* nvml, const Gpus& gpus,
               const std::map<std::string, Holding>& holdings) {
  UseNow use;
  use.gpus.resize(gpus.devices.size());
  for (std::size_t gpu = 0; gpu < gpus.devices.size(); ++gpu) {
    const std::string& uuid = gpus.devices[gpu].hardware.uuid;
    CardUse card(settings, gpu, holdings, use);
    const auto device =
        nvml == nullptr ? absl::StatusOr<NvmlDevice>(absl::NotFoundError("")) : nvml->Find(uuid);
    if (device.ok()) {
      const auto now = nvml->Use(*device);
      if (now.ok()) {
        use.gpus[gpu] = {now->used_memory_mib << kMibShift, now->compute_percent};
      }
      if (!card.OfOne()) card.OfProcesses(*nvml, *device);
    }
    card.OfLibrary(uuid);
  }
  return use;
}

}  // namespace tephra::node
