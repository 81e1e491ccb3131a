// Cutters: the strategy for each mode that this node has; a mode without one is refused.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "plugins/node/cut/cutter.h"

namespace tephra::node {

class Cutters {
 public:
  // Told the mode of each step that is done, so that a test can cut it off there.
  using Step = std::function<void(const char* done, SliceMode mode)>;

  void Set(SliceMode mode, std::unique_ptr<Cutter> cutter) {
    by_mode_[static_cast<std::size_t>(mode)] = std::move(cutter);
  }

  // Every mode, the others too where one fails; the first error.
  absl::Status Restore(const std::vector<Grant>& live, const Gpus& gpus);

  // All slices of the grant, mode after mode in the order of SliceMode. Where one fails, those
  // before it are left: Undo takes them back.
  absl::Status Cut(const Grant& grant, const Gpus& gpus, Edits& edits, const Step& step);
  // Every mode of the grant, the others too where one fails; the first error.
  absl::Status Undo(const Grant& grant, const Gpus& gpus, const Step& step);

 private:
  std::array<std::unique_ptr<Cutter>, kSliceModes> by_mode_;
};

}  // namespace tephra::node
