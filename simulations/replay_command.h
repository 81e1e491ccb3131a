// ReplayCommand: `tephra replay JOURNAL`.
#pragma once

#include <ostream>
#include <string>

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand. Its callback sets the exit code.
void AddReplayCommand(CLI::App& app, int& code);

enum class ReplayOutput { kText, kJson };

struct ReplayCommandOptions {
  std::string path;
  ReplayOutput output = ReplayOutput::kText;
  bool strict = false;  // a truncated journal is an error
  bool fast = false;    // do not recompute the derived state after each cycle
};

// Writes the report to `out` (text or one JSON object), errors to `err`. Returns the exit code:
//   0  all complete records were reproduced
//   1  there is a difference; the report shows the first one
//   2  the file cannot be read, is not a journal or is damaged; with `strict`, also: it is
//   truncated
int ReplayCommand(const ReplayCommandOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tephra
