// `tephra report`: writes the results of one or two simulations as an HTML page
// (docs/reference/report.md).
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand. Its callback sets the exit code: 0 success, 2 a folder cannot be read or the
// page cannot be written.
void AddReportCommand(CLI::App& app, int& code);

}  // namespace tephra
