#include "plugins/node/cut/whole_cutter.h"

#include "plugins/node/cut/edits.h"

namespace tephra::node {

absl::Status WholeCutter::Cut(const Grant& grant, const Gpus& gpus, Edits& edits) {
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode != SliceMode::kWhole) continue;
    const Gpu& gpu = gpus.devices[slice.gpu];
    if (gpu.mig_mode) {
      return absl::FailedPreconditionError("GPU " + gpu.hardware.uuid +
                                           " is in MIG mode, so nobody can use it whole");
    }
    AddGpu(edits, gpu);
  }
  return absl::OkStatus();
}

}  // namespace tephra::node
