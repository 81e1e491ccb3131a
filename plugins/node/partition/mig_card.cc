#include "plugins/node/partition/mig_card.h"

#include <algorithm>

namespace tephra::node {

absl::StatusOr<MigCard> MigCard::Open(const Nvml& nvml, const Gpu& gpu, const MigModel& model) {
  TEPHRA_ASSIGN_OR_RETURN(const NvmlDevice device, nvml.Find(gpu.hardware.uuid));
  return MigCard(nvml, device, model);
}

absl::StatusOr<bool> MigCard::IsOn() const {
  TEPHRA_ASSIGN_OR_RETURN(const NvmlMigMode mode, nvml_->MigMode(device_));
  return mode.on;
}

// A pending mode would become real with the next reset by any other program, so it is reverted.
absl::Status MigCard::TurnOn() const {
  TEPHRA_ASSIGN_OR_RETURN(NvmlMigMode mode, nvml_->MigMode(device_));
  if (mode.on != mode.pending) {
    return absl::FailedPreconditionError("a change of its MIG mode waits for a reset of the GPU");
  }
  if (mode.on) return absl::OkStatus();
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<NvmlProcess> processes, nvml_->Processes(device_));
  if (!processes.empty()) {
    return absl::FailedPreconditionError("MIG mode is off, and process " +
                                         std::to_string(processes.front().pid) +
                                         " uses the whole GPU");
  }
  TEPHRA_RETURN_IF_ERROR(nvml_->SetMigMode(device_, true));
  TEPHRA_ASSIGN_OR_RETURN(mode, nvml_->MigMode(device_));
  if (mode.on) return absl::OkStatus();
  TEPHRA_RETURN_IF_ERROR(nvml_->SetMigMode(device_, false));
  return absl::FailedPreconditionError("to turn MIG mode on takes a reset of the GPU");
}

absl::Status MigCard::TurnOff() const {
  TEPHRA_ASSIGN_OR_RETURN(NvmlMigMode mode, nvml_->MigMode(device_));
  if (!mode.on) return absl::OkStatus();
  TEPHRA_RETURN_IF_ERROR(nvml_->SetMigMode(device_, false));
  TEPHRA_ASSIGN_OR_RETURN(mode, nvml_->MigMode(device_));
  if (!mode.on) return absl::OkStatus();
  TEPHRA_RETURN_IF_ERROR(nvml_->SetMigMode(device_, true));
  return absl::FailedPreconditionError("to turn MIG mode off takes a reset of the GPU");
}

absl::StatusOr<std::vector<MigCard::Piece>> MigCard::Pieces() const {
  TEPHRA_ASSIGN_OR_RETURN(const bool on, IsOn());
  std::vector<Piece> pieces;
  if (!on) return pieces;
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<NvmlMigProfile> profiles, nvml_->MigProfiles(device_));
  TEPHRA_ASSIGN_OR_RETURN(std::vector<NvmlGpuInstance> instances, nvml_->GpuInstances(device_));
  for (NvmlGpuInstance& instance : instances) {
    Piece piece;
    for (const NvmlMigProfile& profile : profiles) {
      const int known = FindMigProfile(*model_, profile.name);
      if (profile.id == instance.profile_id && known >= 0) {
        piece.at = MigInstance{known, instance.start};
      }
    }
    piece.instance = std::move(instance);
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

absl::StatusOr<MigCard::Piece> MigCard::Make(const MigInstance& at,
                                             const std::vector<Piece>& there) const {
  const auto found =
      std::find_if(there.begin(), there.end(), [&](const Piece& piece) { return piece.at == at; });
  Piece piece;
  if (found != there.end()) {
    piece = *found;
  } else {
    const MigProfile& wanted = model_->profiles[static_cast<std::size_t>(at.profile)];
    TEPHRA_ASSIGN_OR_RETURN(const std::vector<NvmlMigProfile> profiles,
                            nvml_->MigProfiles(device_));
    const auto profile =
        std::find_if(profiles.begin(), profiles.end(),
                     [&](const NvmlMigProfile& each) { return each.name == wanted.name; });
    if (profile == profiles.end()) return absl::NotFoundError("the driver has no such profile");
    const nvml_abi::Placement placement{static_cast<unsigned>(at.start), wanted.memory_slices};
    piece.at = at;
    TEPHRA_ASSIGN_OR_RETURN(piece.instance,
                            nvml_->CreateGpuInstance(device_, profile->id, placement));
  }
  TEPHRA_RETURN_IF_ERROR(Complete(piece));
  return piece;
}

absl::Status MigCard::Complete(Piece& piece) const {
  const int slices = model_->profiles[static_cast<std::size_t>(piece.at->profile)].compute_slices;
  std::vector<NvmlComputeInstance>& compute = piece.instance.compute;
  if (compute.size() == 1 && compute.front().slices == slices) return absl::OkStatus();
  for (const NvmlComputeInstance& each : compute) {
    TEPHRA_RETURN_IF_ERROR(nvml_->DestroyComputeInstance(each.handle));
  }
  TEPHRA_ASSIGN_OR_RETURN(const NvmlComputeInstance made,
                          nvml_->CreateComputeInstance(piece.instance.handle, slices));
  compute = {made};
  return absl::OkStatus();
}

absl::Status MigCard::Remove(const Piece& piece) const {
  for (const NvmlComputeInstance& compute : piece.instance.compute) {
    absl::Status status = nvml_->DestroyComputeInstance(compute.handle);
    if (!status.ok() && !absl::IsNotFound(status)) return status;
  }
  absl::Status status = nvml_->DestroyGpuInstance(piece.instance.handle);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::StatusOr<std::string> MigCard::Uuid(const Piece& piece) const {
  return nvml_->MigUuid(device_, piece.instance.id, piece.instance.compute.front().id);
}

}  // namespace tephra::node
