// WholeGpu: a GPU for one pod alone. There is nothing to partition; the container sees the GPU's
// device nodes and its UUID, and no hook library stands between it and the driver.
#pragma once

#include "plugins/node/partition/partitioner.h"

namespace tephra::node {

class WholeGpu final : public Partitioner {
 public:
  absl::Status Apply(const Grant& grant, const Gpus& gpus, Edits& edits) override;
  absl::Status Undo(const Grant&, const Gpus&) override { return absl::OkStatus(); }
};

}  // namespace tephra::node
