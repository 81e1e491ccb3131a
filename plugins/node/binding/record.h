// Record: a Holding on disk, in a file of its own. It is written before anything is applied, so that
// what a crash leaves on the hardware is known to the next process.
#pragma once

#include <string>
#include <string_view>

#include "plugins/node/binding/books.h"
#include "topology/base/status.h"

namespace tephra::node {

// The file is named by its nonce, with this ending.
constexpr const char* kRecordEnding = ".json";

std::string FormatRecord(const Holding& holding, const Gpus& gpus);

// Finds the GPUs by their UUIDs. NOT_FOUND: one of them is gone. DATA_LOSS: this program did not
// write the text.
absl::StatusOr<Holding> ParseRecord(std::string_view text, const Gpus& gpus);

}  // namespace tephra::node
