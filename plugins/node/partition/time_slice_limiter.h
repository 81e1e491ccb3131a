// TimeSliceLimiter: containers take turns on a GPU. The driver switches between their processes by
// itself; only the length of a turn can be set. Their memory is not isolated.
#pragma once

#include <string>
#include <vector>

#include "plugins/node/partition/partitioner.h"
#include "plugins/node/partition/holders.h"

namespace tephra::node {

class TimeSliceLimiter : public Partitioner {
 public:
  // The numbers of `nvidia-smi compute-policy --set-timeslice`.
  enum class Interval { kDefault = 0, kShort = 1, kMedium = 2, kLong = 3 };
  struct Options {
    std::string nvidia_smi = "nvidia-smi";
    Interval interval = Interval::kDefault;  // nvidia-smi is not called
    int timeout_ms = 10'000;
  };
  explicit TimeSliceLimiter(Options options) : options_(std::move(options)) {}

  void Remember(const std::vector<Grant>& live, const Gpus& gpus) override {
    holders_.Remember(live, gpus);
  }
  absl::Status Apply(const Grant& grant, const Gpus& gpus, Edits& edits) override;
  absl::Status Undo(const Grant& grant, const Gpus& gpus) override;

 private:
  absl::Status Set(const Gpu& gpu, Interval interval) const;

  Options options_;
  Holders holders_{SliceMode::kTimeSlice};
};

}  // namespace tephra::node
