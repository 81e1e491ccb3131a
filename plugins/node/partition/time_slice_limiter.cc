#include "plugins/node/partition/time_slice_limiter.h"

#include "plugins/node/partition/edits.h"
#include "plugins/node/run_program.h"

namespace tephra::node {

absl::Status TimeSliceLimiter::Set(const Gpu& gpu, Interval interval) const {
  if (options_.interval == Interval::kDefault) return absl::OkStatus();
  Program program;
  program.arguments = {
      options_.nvidia_smi, "compute-policy",  "-i",
      gpu.hardware.uuid,   "--set-timeslice", std::to_string(static_cast<int>(interval))};
  program.timeout_ms = options_.timeout_ms;
  const absl::Status status = RunProgram(program).status();
  if (status.ok()) return status;
  const std::string text =
      "setting the time slice of " + gpu.hardware.uuid + ": " + std::string(status.message());
  if (absl::IsDeadlineExceeded(status)) return absl::UnavailableError(text);
  return absl::FailedPreconditionError(text);
}

absl::Status TimeSliceLimiter::Apply(const Grant& grant, const Gpus& gpus, Edits& edits) {
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode != SliceMode::kTimeSlice) continue;
    if (slice.gpu >= gpus.devices.size()) {
      return absl::FailedPreconditionError("the node has no GPU " + std::to_string(slice.gpu));
    }
    const Gpu& gpu = gpus.devices[slice.gpu];
    const DeviceHardware& hardware = gpu.hardware;
    if (!hardware.may(SliceMode::kTimeSlice)) {
      return absl::FailedPreconditionError(hardware.uuid + " may not be shared by time slicing on this node: see its device rules");
    }
    const auto others = holders_.Of(hardware.uuid);
    const auto sharers = static_cast<std::int64_t>(others.size());
    if (hardware.replicas > 0 && sharers >= hardware.replicas &&
        others.count(grant.holder.nonce) == 0) {
      return absl::FailedPreconditionError(hardware.uuid + ": " + std::to_string(sharers) +
                                           " containers share it by time slicing, its limit");
    }
  }
  Edits added = edits;
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode != SliceMode::kTimeSlice) continue;
    const Gpu& gpu = gpus.devices[slice.gpu];
    if (absl::Status status = Set(gpu, options_.interval); !status.ok()) {
      (void)Undo(grant, gpus);
      return status;
    }
    AddGpuNodes(added, gpu);
    AddVisible(added, gpu.hardware.uuid);
  }
  holders_.Add(grant, gpus);
  edits = std::move(added);
  return absl::OkStatus();
}

absl::Status TimeSliceLimiter::Undo(const Grant& grant, const Gpus& gpus) {
  holders_.Remove(grant);
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode != SliceMode::kTimeSlice || slice.gpu >= gpus.devices.size()) continue;
    const Gpu& gpu = gpus.devices[slice.gpu];
    if (holders_.Of(gpu.hardware.uuid).empty()) {
      const absl::Status status = Set(gpu, Interval::kDefault);
      if (!status.ok()) return absl::UnavailableError(status.message());
    }
  }
  return absl::OkStatus();
}

}  // namespace tephra::node
