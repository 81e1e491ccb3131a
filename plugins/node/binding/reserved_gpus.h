// Reserved: the devices that the node's configuration keeps for pods of other schedulers, which
// write no slices: each slot of such a container is a whole one of them, the first that are free.
// The scheduler never gives them out, for the inventory tells it so.
#pragma once

#include <vector>

#include "plugins/node/binding/books.h"
#include "plugins/node/gpu.h"
#include "topology/base/status.h"

namespace tephra::node {

// `count` devices for the holder of `wanted`, which has no slices yet. A container may
// have the devices that an init container of its pod had. FAILED_PRECONDITION: fewer devices are
// reserved and healthy. UNAVAILABLE: other pods hold them now.
absl::StatusOr<std::vector<GrantedSlice>> ChooseReservedGpus(const Holding& wanted, std::size_t count,
                                                         const Books& books, const Gpus& gpus);

}  // namespace tephra::node
