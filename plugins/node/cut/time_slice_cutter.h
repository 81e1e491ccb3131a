// TimeSliceCutter: containers take turns at a GPU. The driver switches between their processes by
// itself; what there is to set is how long a turn is. Memory is not kept apart.
#pragma once

#include <string>
#include <vector>

#include "plugins/node/cut/cutter.h"
#include "plugins/node/cut/holders.h"

namespace tephra::node {

class TimeSliceCutter : public Cutter {
 public:
  // As `nvidia-smi compute-policy --set-timeslice` counts them.
  enum class Interval { kDefault = 0, kShort = 1, kMedium = 2, kLong = 3 };
  struct Options {
    std::string nvidia_smi = "nvidia-smi";
    Interval interval = Interval::kDefault;  // nvidia-smi is not called
    int timeout_ms = 10'000;
  };
  explicit TimeSliceCutter(Options options) : options_(std::move(options)) {}

  // Tells which grants have containers that live, once before any Cut.
  absl::Status Restore(const std::vector<Grant>& live, const Gpus& gpus) override;

  absl::Status Cut(const Grant& grant, const Gpus& gpus, Edits& edits) override;
  absl::Status Undo(const Grant& grant, const Gpus& gpus) override;

 private:
  absl::Status Set(const Gpu& gpu, Interval interval) const;

  Options options_;
  Holders holders_{SliceMode::kTimeSlice};
};

}  // namespace tephra::node
