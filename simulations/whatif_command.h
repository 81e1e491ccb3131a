// `tephra whatif`: see whatif/whatif.h and docs/reference/whatif.md.
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; its callback sets the exit code: 0 success, 2 bad input, 130 interrupted.
void AddWhatifCommand(CLI::App& app, int& code);

}  // namespace tephra
