// tephra: the command line. A subcommand a file; this one reads the arguments.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "simulations/experiments/openb_command.h"
#include "simulations/replay_command.h"
#include "simulations/simulate_command.h"

namespace {

constexpr int kBadUsage = 2;

void AddReplayCommand(CLI::App& app, int& code) {
  struct Arguments {
    tephra::ReplayCommandOptions options;
    std::string output = "text";
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "replay", "Replay a journal and compare every plan with the recorded one, byte for byte.");
  command->add_option("JOURNAL", arguments->options.path, "a file of tephra simulate --journal")
      ->required();
  command->add_option("--output", arguments->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_flag("--strict", arguments->options.strict, "a journal that was cut is an error");
  command->add_flag("--fast", arguments->options.fast,
                    "do not recompute all books from the facts after each cycle");
  command->callback([arguments, &code] {
    if (arguments->output == "json") arguments->options.output = tephra::ReplayOutput::kJson;
    code = tephra::ReplayCommand(arguments->options, std::cout, std::cerr);
  });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tephra: a batch gang scheduler for GPUs, offline.", "tephra");
  app.set_version_flag("--version", "tephra " TEPHRA_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 a check failed (parity, replay), 2 bad input or usage.");
  int code = 0;
  tephra::AddSimulateCommand(app, code);
  AddReplayCommand(app, code);
  tephra::AddOpenbCommand(app, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  return code;
}
