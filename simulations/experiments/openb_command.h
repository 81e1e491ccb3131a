// `tephra openb`: see openb_parity.h.
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; when it was chosen, its callback runs it and sets the exit code:
// 0 every curve matches, 1 a miss, 2 bad input.
void AddOpenbCommand(CLI::App& app, int& code);

}  // namespace tephra
