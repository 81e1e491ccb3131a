// Record: a Holding as it is kept on disk, one file named by its nonce. It is there before
// anything is cut, so that whatever a crash leaves on the hardware is known to somebody.
#pragma once

#include <string>
#include <string_view>

#include "plugins/node/binding/books.h"
#include "topology/base/status.h"

namespace tephra::node {

std::string FormatRecord(const Holding& holding, const Gpus& gpus);

// The GPUs are found again by their UUIDs. NOT_FOUND: one of them is gone. DATA_LOSS for what this
// program did not write so.
absl::StatusOr<Holding> ParseRecord(std::string_view text, const Gpus& gpus);

}  // namespace tephra::node
