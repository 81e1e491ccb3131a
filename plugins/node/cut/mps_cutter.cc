#include "plugins/node/cut/mps_cutter.h"

#include <algorithm>

#include "plugins/node/cut/edits.h"

namespace tephra::node {
namespace {

constexpr int kVolta = 7;  // from here on MPS keeps clients apart and knows shares

// Where another try may help, as Cutter promises.
absl::Status Retry(const absl::Status& status) {
  const bool final = status.ok() || absl::IsFailedPrecondition(status);
  return final ? status : absl::UnavailableError(status.message());
}

}  // namespace

MpsCutter::MpsCutter(const Nvml& nvml, Options options)
    : nvml_(&nvml), options_(std::move(options)), daemons_(options_.daemons) {}

absl::Status MpsCutter::Restore(const std::vector<Grant>& live, const Gpus& gpus) {
  holders_.Clear();
  for (const Grant& grant : live) Add(grant, gpus);
  absl::Status first;
  // Those of cards that are no longer there, or no longer shared so, among them.
  for (const std::string& uuid : daemons_.Known()) {
    if (absl::Status status = EndIfUnused(uuid); first.ok()) first = status;
  }
  return first;
}

void MpsCutter::Add(const Grant& grant, const Gpus& gpus) {
  holders_.Add(grant, gpus);
  if (const auto user = UserOf(grant.holder)) users_[grant.holder.nonce] = *user;
}

void MpsCutter::Remove(const Grant& grant) {
  holders_.Remove(grant);
  users_.erase(grant.holder.nonce);
}

std::optional<std::uint32_t> MpsCutter::UserOf(const Holder& holder) const {
  const auto known = users_.find(holder.nonce);
  if (known != users_.end()) return known->second;
  return options_.user_of ? options_.user_of(holder) : std::nullopt;
}

absl::Status MpsCutter::Check(const Grant& grant, const Gpu& gpu) const {
  const std::string& uuid = gpu.hardware.uuid;
  if (grant.slices.size() != 1) {
    return absl::FailedPreconditionError(
        "a container with a share by MPS has it of one GPU and no other slice: each GPU has a "
        "daemon of its own, and a process speaks with one");
  }
  if (!gpu.hardware.may(SliceMode::kMps)) {
    return absl::FailedPreconditionError(uuid + " is not shared by MPS on this node");
  }
  if (gpu.cuda_major > 0 && gpu.cuda_major < kVolta) {
    return absl::FailedPreconditionError(
        uuid + ", of compute capability " + std::to_string(gpu.cuda_major) + "." +
        std::to_string(gpu.cuda_minor) + ": MPS knows shares from 7.0 on");
  }
  const auto& others = holders_.Of(uuid);
  const bool counted = others.count(grant.holder.nonce) > 0;
  if (!counted && static_cast<std::int64_t>(others.size()) >= gpu.hardware.mps_clients) {
    return absl::FailedPreconditionError(uuid + ": " + std::to_string(others.size()) +
                                         " containers share it by MPS, as many as may");
  }
  const std::optional<std::uint32_t> user = UserOf(grant.holder);
  for (const auto& [nonce, other] : others) {
    const std::optional<std::uint32_t> theirs = UserOf(other);
    if (!user || !theirs || *user == *theirs) continue;
    return absl::FailedPreconditionError(
        uuid + ": MPS serves one user at a time, now " + std::to_string(*theirs) + ", and not " +
        std::to_string(*user) + " before all containers of that one have gone");
  }
  return absl::OkStatus();
}

// With the GPU kept for one process, no one gets by the daemon.
absl::Status MpsCutter::Begin(const Gpu& gpu) const {
  TEPHRA_ASSIGN_OR_RETURN(const NvmlDevice device, nvml_->Find(gpu.hardware.uuid));
  const absl::StatusOr<NvmlMigMode> mig = nvml_->MigMode(device);
  if (mig.ok() && mig->on) return absl::FailedPreconditionError("its MIG mode is on");
  // After the daemon, whose folder tells a later process that the mode is to be set back.
  TEPHRA_RETURN_IF_ERROR(daemons_.Begin(gpu.hardware.uuid));
  return nvml_->SetComputeMode(device, nvml_abi::kExclusiveProcess);
}

absl::Status MpsCutter::EndIfUnused(const std::string& uuid) const {
  if (!holders_.Of(uuid).empty()) return absl::OkStatus();
  TEPHRA_ASSIGN_OR_RETURN(const bool had_one, daemons_.End(uuid));
  if (!had_one) return absl::OkStatus();
  const absl::StatusOr<NvmlDevice> device = nvml_->Find(uuid);
  if (device.ok()) {
    TEPHRA_RETURN_IF_ERROR(Retry(nvml_->SetComputeMode(*device, nvml_abi::kDefaultCompute)));
  }
  daemons_.Forget(uuid);
  return absl::OkStatus();
}

absl::Status MpsCutter::Cut(const Grant& grant, const Gpus& gpus, Edits& edits) {
  const auto slice =
      std::find_if(grant.slices.begin(), grant.slices.end(),
                   [](const GrantedSlice& each) { return each.mode == SliceMode::kMps; });
  if (slice == grant.slices.end()) return absl::OkStatus();
  if (slice->gpu >= gpus.devices.size()) {
    return absl::FailedPreconditionError("the node has no GPU " + std::to_string(slice->gpu));
  }
  const Gpu& gpu = gpus.devices[slice->gpu];
  TEPHRA_RETURN_IF_ERROR(Check(grant, gpu));
  Add(grant, gpus);
  if (const absl::Status status = Begin(gpu); !status.ok()) {
    // One that another process is starting is asked for again.
    if (daemons_.kept()) {
      Remove(grant);
    } else {
      (void)Undo(grant, gpus);
    }
    return Retry(absl::Status(
        status.code(), "MPS of " + gpu.hardware.uuid + ": " + std::string(status.message())));
  }
  AddGpuNodes(edits, gpu);
  AddVisible(edits, gpu.hardware.uuid);
  SetEnv(edits, "CUDA_MPS_PIPE_DIRECTORY", options_.pipe_in_container);
  if (slice->compute > 0) {
    const int percent = std::max(1, slice->compute / 10);
    SetEnv(edits, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", std::to_string(percent));
  }
  if (slice->memory_mib > 0) {
    // The daemon sees one GPU, so to its clients that is number 0.
    SetEnv(edits, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
           "0=" + std::to_string(slice->memory_mib) + "M");
  }
  edits.mounts.push_back(
      {daemons_.PipeFolder(gpu.hardware.uuid), options_.pipe_in_container, false});
  if (!options_.shm.empty()) edits.mounts.push_back({options_.shm, "/dev/shm", false});
  return absl::OkStatus();
}

absl::Status MpsCutter::Undo(const Grant& grant, const Gpus& gpus) {
  Remove(grant);
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode != SliceMode::kMps || slice.gpu >= gpus.devices.size()) continue;
    TEPHRA_RETURN_IF_ERROR(EndIfUnused(gpus.devices[slice.gpu].hardware.uuid));
  }
  return absl::OkStatus();
}

}  // namespace tephra::node
