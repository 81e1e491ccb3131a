// `tephra openb`: see openb_parity.h.
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand. Its callback sets the exit code: 0 every curve matches, 1 a curve differs,
// 2 bad input.
void AddOpenbCommand(CLI::App& app, int& code);

}  // namespace tephra
