// BadInput: the format of every error about a file that a user wrote. Pure.
//
//   cluster.yaml:12: jobs[3].gpus: "-2", expected a whole number of at least 0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/base/status.h"

namespace tephra {

// `line` counts from 1; 0 means the whole file. `field` may be empty.
absl::Status BadInput(const std::string& file, int line, const std::string& field,
                      std::string_view value, const std::string& expected);

// The value in quotes, cut after 60 bytes, with control and non-ASCII bytes as \xNN.
std::string Quoted(std::string_view value);

// ", did you mean \"gpus\"?" when one of the known words is at most two edits away, else "".
std::string NearestWord(const std::string& word, const std::vector<std::string>& known);

}  // namespace tephra
