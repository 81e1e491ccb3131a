// `tephra topology`: draws the network topology of a simulation file
// (docs/explanation/topology.md).
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand. Its callback sets the exit code: 0 success, 2 bad input.
void AddTopologyCommand(CLI::App& app, int& code);

}  // namespace tephra
