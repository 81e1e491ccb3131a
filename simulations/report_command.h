// `tephra report`: what one or two simulations came to, as a page for a browser (docs/report.md).
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; its callback sets the exit code: 0 done, 2 a folder that cannot be read, or
// a page that cannot be written.
void AddReportCommand(CLI::App& app, int& code);

}  // namespace tephra
