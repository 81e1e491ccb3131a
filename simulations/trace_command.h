// `tephra trace`: summarizes a trace of jobs and reports its faults (docs/reference/traces.md).
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; its callback sets the exit code: 0 success, 1 a fault and --strict, 2 a file
// that cannot be read.
void AddTraceCommand(CLI::App& app, int& code);

}  // namespace tephra
