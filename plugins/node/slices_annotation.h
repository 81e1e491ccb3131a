// The annotation `tephra.sh/slices`, version 1, as the node reads it (docs/reference/annotations.md), and how
// it becomes a Grant: each slice matched with a GPU of this node that can be given so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/node/gpu.h"
#include "plugins/node/grant.h"
#include "topology/base/status.h"

namespace tephra::node {

constexpr const char* kSlicesKey = "tephra.sh/slices";
constexpr std::size_t kMaxSlicesBytes = 64u << 10;

struct WrittenSlice {
  std::string uuid;  // empty: the inventory named none
  std::size_t index = 0;
  SliceMode mode = SliceMode::kWhole;
  std::int32_t compute = 0;
  std::int32_t memory_mib = 0;
  std::string mig_profile;  // of kMig only, as is the next
  int mig_start = 0;

  bool operator==(const WrittenSlice&) const = default;
};

struct ContainerSlices {
  std::string name;
  std::vector<WrittenSlice> slices;

  bool operator==(const ContainerSlices&) const = default;
};

// INVALID_ARGUMENT `tephra.sh/slices: containers[0].slices[1].mode: "half", expected ...` for the
// first thing that is wrong; then nothing of it counts.
absl::StatusOr<std::vector<ContainerSlices>> ParseSlices(std::string_view text);

// The word of a mode, in annotations and elsewhere.
const char* ModeWord(SliceMode mode);

// What the holder's container was given. FAILED_PRECONDITION where the annotation gives it nothing,
// or contradicts what the node has: a GPU that is not there or is named twice, a mode that it may
// not be in, more than there is.
absl::StatusOr<Grant> MatchSlices(const Holder& holder,
                                  const std::vector<ContainerSlices>& containers, const Gpus& gpus);

}  // namespace tephra::node
