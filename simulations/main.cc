// tephra: the command line. Each subcommand has a file of its own; this one parses the arguments.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/bad_input.h"
#include "sidecar/client/explain_command.h"
#include "sidecar/client/top_command.h"
#include "simulations/config_command.h"
#include "simulations/experiments/openb_command.h"
#include "simulations/explain.h"
#include "simulations/migrate_command.h"
#include "simulations/replay_command.h"
#include "simulations/report_command.h"
#include "simulations/simulate_command.h"
#include "simulations/sweep_command.h"
#include "simulations/topology_command.h"
#include "simulations/trace_command.h"
#include "simulations/whatif_command.h"

namespace {

constexpr int kBadUsage = 2;

// Reports wrong usage on stderr, with the name of the command.
int Refuse(const CLI::App& app, int argc, char** argv, const CLI::ParseError& error) {
  const std::string word = argc > 1 ? argv[1] : "";
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  if (std::find(commands.begin(), commands.end(), word) != commands.end()) {
    std::cerr << "tephra " << word << ": " << error.what() << "\nRun `tephra " << word
              << " --help` for its options.\n";
    return kBadUsage;
  }
  std::string all;
  for (const std::string& command : commands) all += (all.empty() ? "" : ", ") + command;
  std::cerr << "tephra: " << tephra::Quoted(word) << ", expected a command: " << all
            << tephra::NearestWord(word, commands) << "\n";
  return kBadUsage;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tephra: a batch gang scheduler for GPU clusters.", "tephra");
  app.set_version_flag("--version", "tephra " TEPHRA_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success; 2 bad input or usage; 130 interrupted. Other codes are in the help of each command.\n"
      "Run `tephra COMMAND --help` for its options and exit codes.");
  int code = 0;
  tephra::AddSimulateCommand(app, code);
  tephra::AddSweepCommand(app, code);
  tephra::AddReplayCommand(app, code);
  tephra::AddOpenbCommand(app, code);
  tephra::AddExplainCommand(app, tephra::ExplainInSimulation, code);
  tephra::AddTopCommand(app, code);
  tephra::AddConfigCommand(app, code);
  tephra::AddTopologyCommand(app, code);
  tephra::AddTraceCommand(app, code);
  tephra::AddReportCommand(app, code);
  tephra::AddWhatifCommand(app, code);
  tephra::AddMigrateCommand(app, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? app.exit(error) : Refuse(app, argc, argv, error);
  }
  if (!std::cout.flush()) {
    std::cerr << "tephra: cannot write to stdout; expected space on the disk, or an open pipe\n";
    return kBadUsage;
  }
  return code;
}
