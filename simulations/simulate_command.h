// `tephra simulate`: see simulate.h and docs/reference/simulate.md.
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand. Its callback sets the exit code: 0 success, 2 bad input, 130 interrupted.
void AddSimulateCommand(CLI::App& app, int& code);

}  // namespace tephra
