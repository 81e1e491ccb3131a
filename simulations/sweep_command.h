// `tephra sweep`: a simulation under several policies, loads and seeds, compared (docs/sweep.md).
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; its callback sets the exit code: 0 done, 2 bad input or a run that failed,
// 130 interrupted.
void AddSweepCommand(CLI::App& app, int& code);

}  // namespace tephra
