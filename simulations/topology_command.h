// `tephra topology`: draws which nodes of a simulation file are near each other (docs/topology.md).
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; its callback sets the exit code: 0 done, 2 bad input.
void AddTopologyCommand(CLI::App& app, int& code);

}  // namespace tephra
