// Reads the output of `nvidia-smi topo -m`.
//
// Pure: from a string to a value or an error.
#pragma once

#include <string_view>

#include "topology/base/status.h"
#include "topology/links.h"

namespace tephra {

// Reads the matrix of GPUs, and NUMA nodes from the column "NUMA Affinity". It skips lines before
// the header, rows and columns of NICs, lines after the last GPU, and the escapes that underline
// the header. `model` is the GPU model, which gives the speed of an NVLink. If the two rows of a
// pair differ, the slower link counts.
//
// INVALID_ARGUMENT with line, column and value: no header, a GPU out of order or without a row, a
// cell that is missing or not a link, more than kMaxLinkedGpus GPUs.
absl::StatusOr<NodeLinks> ParseLinks(std::string_view text, std::string_view model);

}  // namespace tephra
