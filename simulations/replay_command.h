// ReplayCommand: `tephra replay JOURNAL`, from the file to the exit code.
#pragma once

#include <ostream>
#include <string>

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; when it was run, `code` is its exit code.
void AddReplayCommand(CLI::App& app, int& code);

enum class ReplayOutput { kText, kJson };

struct ReplayCommandOptions {
  std::string path;
  ReplayOutput output = ReplayOutput::kText;
  bool strict = false;  // a journal that was cut is an error
  bool fast = false;    // do not recompute the books after each cycle
};

// The report goes to `out` (in one JSON object, or in lines for people), errors to `err`.
//   0  everything whole was reproduced; of a cut journal, everything up to the cut
//   1  something differs; the report says where first
//   2  the file cannot be read, is no journal or is damaged; with `strict`, also: it was cut
int ReplayCommand(const ReplayCommandOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tephra
