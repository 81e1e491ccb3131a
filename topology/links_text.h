// The text of `nvidia-smi topo -m` as links.
//
// Pure: from a string to a value or an error.
#pragma once

#include <string_view>

#include "topology/base/status.h"
#include "topology/links.h"

namespace tephra {

// Reads the matrix between GPUs, and NUMA nodes where a column NUMA Affinity names one. Lines
// before the header, the rows and columns of NICs, whatever follows the last GPU's row and the
// escapes that underline the header are passed over. `model` (of the GPUs) tells how fast an NVLink
// is. A pair that its two rows tell differently counts as the slower of the two.
//
// INVALID_ARGUMENT with line, column and value: no header, a GPU out of order or without a row, a
// cell that is missing or no link, more than kMaxLinkedGpus.
absl::StatusOr<NodeLinks> ParseLinks(std::string_view text, std::string_view model);

}  // namespace tephra
