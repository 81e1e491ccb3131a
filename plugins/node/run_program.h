// RunProgram: runs another program to its end and returns what it printed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/base/status.h"

namespace tephra::node {

struct Program {
  std::vector<std::string> arguments;  // the first is the program: a path, or a name in PATH
  // In place of, or beside, those of this process.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string input;
  int timeout_ms = 10'000;
};

// What it wrote to both its outputs, 64 KiB at most, where it exits 0. Else what it wrote last:
// NotFound: there is no such program; DeadlineExceeded: it was killed when its time was over. What
// it leaves running in the background does not keep this waiting.
absl::StatusOr<std::string> RunProgram(const Program& program);

}  // namespace tephra::node
