// SharedRegion: the file in which HAMi-core's library, in the processes of one container, counts
// what they use of each GPU. It is the container's to write: nothing in it is trusted beyond being
// a number of that container, it is never mapped (a file that shrinks would end this process), and
// one of another layout is refused whole.
//
// Layout: version 1.2 of shared_region_t (HAMi-core src/multiprocess/multiprocess_memory_limit.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "topology/base/status.h"

namespace tephra::node {

struct RegionUse {
  std::int64_t memory_bytes = 0;
  int compute_percent = 0;
};

// By the GPU's UUID. NOT_FOUND: no process of the container has used the library yet. DATA_LOSS: it
// is of another version, or not that file at all.
absl::StatusOr<std::map<std::string, RegionUse>> ReadSharedRegion(const std::string& path);

}  // namespace tephra::node
