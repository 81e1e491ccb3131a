// The numbers by which NVML knows the profiles of topology/mig.h.
//
// Ids: as `nvidia-smi mig -lgip` prints them for cards of 7 and of 4 compute slices; where no
// listing was seen, 64 and what asks for it. Multiprocessors: those of A100 and of H100, from the
// MIG User Guide. Pure.
#pragma once

#include <optional>

#include "topology/mig.h"

namespace tephra::node {

struct FakeProfile {
  unsigned asked_by = 0;  // of nvmlDeviceGetGpuInstanceProfileInfo
  unsigned id = 0;
  unsigned multiprocessors = 0;
  unsigned most = 0;  // on one card
};

FakeProfile FakeProfileOf(const MigModel& model, std::size_t profile);

// The place among the model's profiles, by either number.
std::optional<std::size_t> FakeProfileAskedBy(const MigModel& model, unsigned number);
std::optional<std::size_t> FakeProfileOfId(const MigModel& model, unsigned id);

}  // namespace tephra::node
