// Partitioners: the strategies that this node has, by mode. A mode without one is refused.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/node/partition/partitioner.h"

namespace tephra::node {

class Partitioners {
 public:
  // Called after each step with its name and its mode, so that a test can end the process there.
  using Step = std::function<void(const char* done, SliceMode mode)>;

  void Set(SliceMode mode, std::unique_ptr<Partitioner> partitioner) {
    by_mode_[static_cast<std::size_t>(mode)] = std::move(partitioner);
  }

  // Of all modes, as partitioner.h says. Leftovers: sorted, each once. Tidy: all modes, even after
  // an error; the first error.
  void Remember(const std::vector<Grant>& live, const Gpus& gpus);
  std::vector<std::string> Leftovers(const Gpus& gpus) const;
  absl::Status Tidy(const std::string& uuid, const Gpus& gpus);

  // All slices of the grant, mode by mode in the order of SliceMode. If a mode fails, the modes
  // before it stay applied, and Undo removes them.
  absl::Status Apply(const Grant& grant, const Gpus& gpus, Edits& edits, const Step& step);
  // All modes of the grant, even after an error; the first error.
  absl::Status Undo(const Grant& grant, const Gpus& gpus, const Step& step);

 private:
  std::array<std::unique_ptr<Partitioner>, kSliceModes> by_mode_;
};

}  // namespace tephra::node
