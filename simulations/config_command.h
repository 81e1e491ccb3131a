// `tephra config`: prints the settings of the engine with their defaults.
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; its callback sets the exit code: 0 done.
void AddConfigCommand(CLI::App& app, int& code);

}  // namespace tephra
