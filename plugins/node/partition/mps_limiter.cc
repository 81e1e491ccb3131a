#include "plugins/node/partition/mps_limiter.h"

#include <algorithm>

#include "plugins/node/partition/edits.h"

namespace tephra::node {
namespace {

constexpr int kVolta = 7;  // from here on MPS isolates its clients and limits shares

// The code that Apply and Undo return: UNAVAILABLE if another try may help.
absl::Status Retry(const absl::Status& status) {
  const bool final = status.ok() || absl::IsFailedPrecondition(status);
  return final ? status : absl::UnavailableError(status.message());
}

}  // namespace

MpsLimiter::MpsLimiter(const Nvml& nvml, Options options)
    : nvml_(&nvml), options_(std::move(options)), daemons_(options_.daemons) {}

void MpsLimiter::Remember(const std::vector<Grant>& live, const Gpus& gpus) {
  holders_.Remember(live, gpus);
  for (const Grant& grant : live) {
    RememberUser(grant.holder);
    RememberShare(grant);
  }
}

// Also of GPUs that are gone, or that are no longer shared by MPS.
std::vector<std::string> MpsLimiter::Leftovers(const Gpus&) const { return daemons_.Known(); }

absl::Status MpsLimiter::Tidy(const std::string& uuid, const Gpus&) {
  const std::vector<std::string> known = daemons_.Known();
  const bool ours = std::find(known.begin(), known.end(), uuid) != known.end();
  return ours ? EndIfUnused(uuid) : absl::OkStatus();
}

void MpsLimiter::Add(const Grant& grant, const Gpus& gpus) {
  holders_.Add(grant, gpus);
  RememberUser(grant.holder);
  RememberShare(grant);
}

void MpsLimiter::RememberUser(const Holder& holder) {
  const auto user = UserOf(holder);
  if (!user) return;
  const std::lock_guard lock(users_mutex_);
  users_[holder.nonce] = *user;
}

void MpsLimiter::RememberShare(const Grant& grant) {
  const std::lock_guard lock(users_mutex_);
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode == SliceMode::kMps) shares_[grant.holder.nonce] = slice;
  }
}

absl::Status MpsLimiter::LimitDaemon(const Gpu& gpu) const {
  int percent = 0;
  std::int64_t memory_mib = 0;
  {
    const std::lock_guard lock(users_mutex_);
    for (const auto& [nonce, holder] : holders_.Of(gpu.hardware.uuid)) {
      const auto share = shares_.find(nonce);
      const bool known = share != shares_.end();
      const int compute = known ? share->second.compute : 0;
      const std::int64_t memory = known ? share->second.memory_mib : 0;
      percent = std::max(percent, compute == 0 ? 100 : std::max(1, compute / 10));
      memory_mib = std::max(memory_mib, memory == 0 ? gpu.hardware.memory_mib : memory);
    }
  }
  return daemons_.Limit(gpu.hardware.uuid, percent, memory_mib);
}

void MpsLimiter::Remove(const Grant& grant) {
  holders_.Remove(grant);
  const std::lock_guard lock(users_mutex_);
  users_.erase(grant.holder.nonce);
  shares_.erase(grant.holder.nonce);
}

std::optional<std::uint32_t> MpsLimiter::UserOf(const Holder& holder) const {
  {
    const std::lock_guard lock(users_mutex_);
    const auto known = users_.find(holder.nonce);
    if (known != users_.end()) return known->second;
  }
  return options_.user_of ? options_.user_of(holder) : std::nullopt;
}

absl::Status MpsLimiter::CheckNamespace(const Holder& holder, const Gpu& gpu, const Gpus& gpus) const {
  if (options_.across_namespaces) return absl::OkStatus();
  for (const Gpu& each : gpus.devices) {
    if (options_.shm.empty() && each.hardware.uuid != gpu.hardware.uuid) continue;
    for (const auto& [nonce, other] : holders_.Of(each.hardware.uuid)) {
      if (nonce == holder.nonce || other.pod_namespace == holder.pod_namespace) continue;
      return absl::FailedPreconditionError(
          gpu.hardware.uuid + ": MPS does not isolate namespaces: containers of namespace " + other.pod_namespace +
          " use it on GPU " + each.hardware.uuid + ", this one is of namespace " + holder.pod_namespace +
          " (--mps-across-namespaces allows both)");
    }
  }
  return absl::OkStatus();
}

absl::Status MpsLimiter::CheckUser(const Holder& holder, const std::string& uuid) const {
  if (!options_.user_of) return absl::OkStatus();
  const std::optional<std::uint32_t> user = UserOf(holder);
  if (!user) {
    return absl::FailedPreconditionError(
        uuid + ": MPS serves one user at a time, and the user of this container is not known: set "
               "securityContext.runAsUser in the pod");
  }
  for (const auto& [nonce, other] : holders_.Of(uuid)) {
    if (nonce == holder.nonce) continue;
    const std::optional<std::uint32_t> theirs = UserOf(other);
    if (theirs && *user == *theirs) continue;
    return absl::FailedPreconditionError(
        uuid + ": MPS serves one user at a time: container " + other.container + " of pod " +
        other.pod_namespace + "/" + other.pod_name +
        (theirs ? " runs as user " + std::to_string(*theirs) : " runs as a user that is not known") +
        ", this one as user " + std::to_string(*user));
  }
  return absl::OkStatus();
}

absl::Status MpsLimiter::Check(const Grant& grant, const Gpu& gpu, const Gpus& gpus) const {
  const std::string& uuid = gpu.hardware.uuid;
  if (grant.slices.size() != 1) {
    return absl::FailedPreconditionError(
        "a container that shares a GPU by MPS may have no other slice: each GPU has its own MPS "
        "daemon, and a process connects to one daemon");
  }
  if (!gpu.hardware.may(SliceMode::kMps)) {
    return absl::FailedPreconditionError(uuid + " may not be shared by MPS on this node: see its device rules");
  }
  if (gpu.cuda_major > 0 && gpu.cuda_major < kVolta) {
    return absl::FailedPreconditionError(
        uuid + ", of compute capability " + std::to_string(gpu.cuda_major) + "." +
        std::to_string(gpu.cuda_minor) + ": MPS limits shares only from 7.0 on");
  }
  const auto others = holders_.Of(uuid);
  const bool counted = others.count(grant.holder.nonce) > 0;
  if (!counted && static_cast<std::int64_t>(others.size()) >= gpu.hardware.mps_clients) {
    return absl::FailedPreconditionError(uuid + ": " + std::to_string(others.size()) +
                                         " containers share it by MPS, its limit");
  }
  TEPHRA_RETURN_IF_ERROR(CheckNamespace(grant.holder, gpu, gpus));
  return CheckUser(grant.holder, uuid);
}

// In exclusive mode no process bypasses the daemon.
absl::Status MpsLimiter::Begin(const Gpu& gpu) const {
  TEPHRA_ASSIGN_OR_RETURN(const NvmlDevice device, nvml_->Find(gpu.hardware.uuid));
  const absl::StatusOr<NvmlMigMode> mig = nvml_->MigMode(device);
  if (mig.ok() && mig->on) return absl::FailedPreconditionError("the GPU is in MIG mode");
  // After the daemon: its folder tells a later process to reset the mode.
  TEPHRA_RETURN_IF_ERROR(daemons_.Begin(gpu.hardware.uuid));
  return nvml_->SetComputeMode(device, nvml_abi::kExclusiveProcess);
}

absl::Status MpsLimiter::EndIfUnused(const std::string& uuid) const {
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

absl::Status MpsLimiter::Apply(const Grant& grant, const Gpus& gpus, Edits& edits) {
  const auto slice =
      std::find_if(grant.slices.begin(), grant.slices.end(),
                   [](const GrantedSlice& each) { return each.mode == SliceMode::kMps; });
  if (slice == grant.slices.end()) return absl::OkStatus();
  if (slice->gpu >= gpus.devices.size()) {
    return absl::FailedPreconditionError("the node has no GPU " + std::to_string(slice->gpu));
  }
  const Gpu& gpu = gpus.devices[slice->gpu];
  TEPHRA_RETURN_IF_ERROR(Check(grant, gpu, gpus));
  Add(grant, gpus);
  absl::Status status = Begin(gpu);
  if (status.ok()) status = LimitDaemon(gpu);
  if (!status.ok()) {
    // The keeper is starting the daemon: the caller tries again.
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

absl::Status MpsLimiter::Undo(const Grant& grant, const Gpus& gpus) {
  Remove(grant);
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode != SliceMode::kMps || slice.gpu >= gpus.devices.size()) continue;
    TEPHRA_RETURN_IF_ERROR(EndIfUnused(gpus.devices[slice.gpu].hardware.uuid));
  }
  return absl::OkStatus();
}

}  // namespace tephra::node
