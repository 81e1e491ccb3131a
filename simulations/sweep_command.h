// `tephra sweep`: runs a simulation with several policies, loads and seeds and compares the results
// (docs/reference/sweep.md).
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; its callback sets the exit code: 0 success, 2 bad input or a failed run,
// 130 interrupted.
void AddSweepCommand(CLI::App& app, int& code);

}  // namespace tephra
