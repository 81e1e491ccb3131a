// tephra: the command line. A subcommand a file; this one reads the arguments.
#include <CLI/CLI.hpp>

#include "sidecar/client/explain_command.h"
#include "sidecar/client/top_command.h"
#include "simulations/experiments/openb_command.h"
#include "simulations/explain.h"
#include "simulations/replay_command.h"
#include "simulations/report_command.h"
#include "simulations/simulate_command.h"
#include "simulations/sweep_command.h"
#include "simulations/topology_command.h"
#include "simulations/trace_command.h"
#include "simulations/whatif_command.h"

namespace {

constexpr int kBadUsage = 2;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tephra: a batch gang scheduler for GPUs.", "tephra");
  app.set_version_flag("--version", "tephra " TEPHRA_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 a check failed (parity, replay) or the engine says no, 2 bad input or "
      "usage, 3 no engine answers.");
  int code = 0;
  tephra::AddSimulateCommand(app, code);
  tephra::AddSweepCommand(app, code);
  tephra::AddReplayCommand(app, code);
  tephra::AddOpenbCommand(app, code);
  tephra::AddExplainCommand(app, tephra::ExplainInSimulation, code);
  tephra::AddTopCommand(app, code);
  tephra::AddTopologyCommand(app, code);
  tephra::AddTraceCommand(app, code);
  tephra::AddReportCommand(app, code);
  tephra::AddWhatifCommand(app, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  return code;
}
