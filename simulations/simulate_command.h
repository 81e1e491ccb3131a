// `tephra simulate`: see simulate.h and docs/simulate.md.
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; its callback sets the exit code: 0 done, 2 bad input.
void AddSimulateCommand(CLI::App& app, int& code);

}  // namespace tephra
