// WholeCutter: a GPU for one pod alone. There is nothing to cut; the container sees the GPU's
// device nodes and its UUID, and no hook library stands between it and the driver.
#pragma once

#include "plugins/node/cut/cutter.h"

namespace tephra::node {

class WholeCutter final : public Cutter {
 public:
  absl::Status Cut(const Grant& grant, const Gpus& gpus, Edits& edits) override;
  absl::Status Undo(const Grant&, const Gpus&) override { return absl::OkStatus(); }
};

}  // namespace tephra::node
