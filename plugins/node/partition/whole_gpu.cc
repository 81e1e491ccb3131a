#include "plugins/node/partition/whole_gpu.h"

#include "plugins/node/partition/edits.h"

namespace tephra::node {

absl::Status WholeGpu::Apply(const Grant& grant, const Gpus& gpus, Edits& edits) {
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode != SliceMode::kWhole) continue;
    const Gpu& gpu = gpus.devices[slice.gpu];
    if (gpu.mig_mode) {
      return absl::FailedPreconditionError("GPU " + gpu.hardware.uuid +
                                           " is in MIG mode, so no container can have all of it");
    }
    AddGpu(edits, gpu);
  }
  return absl::OkStatus();
}

}  // namespace tephra::node
