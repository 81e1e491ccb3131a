// `tephra migrate`: what a move of a cluster to Tephra changes. The program kubectl-tephra does the work, because it has a client
// of the API server.
#pragma once

namespace CLI {
class App;
}

namespace tephra {

// Adds the subcommand; its callback replaces this process by kubectl-tephra, with all arguments after it. The exit code is
// 3 if that program cannot be run.
void AddMigrateCommand(CLI::App& app, int& code);

}  // namespace tephra
