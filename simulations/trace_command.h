// `tephra trace`: what is in a timed trace, and what is wrong with it (docs/traces.md).
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; its callback sets the exit code: 0 done, 1 a fault with --strict, 2 a file
// that cannot be read.
void AddTraceCommand(CLI::App& app, int& code);

}  // namespace tephra
