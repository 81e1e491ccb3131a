// RunProgram: runs another program to its end and returns what it printed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/base/status.h"

namespace tephra::node {

struct Program {
  std::vector<std::string> arguments;  // the first is the program: a path, or a name in PATH
  // Added to the variables of this process, or in their place.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string input;
  int timeout_ms = 10'000;
};

// Returns what the program wrote to its two outputs, at most 64 KiB, if it exits with 0. Else an
// error with the last part of that. NOT_FOUND: there is no such program. DEADLINE_EXCEEDED: it was
// killed because its time was over; if the kill does not end it either, the call returns all the
// same, 2 s later. Processes that the program leaves in the background are not waited for.
absl::StatusOr<std::string> RunProgram(const Program& program);

}  // namespace tephra::node
