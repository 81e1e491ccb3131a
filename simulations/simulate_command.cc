#include "simulations/simulate_command.h"

#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>

#include <CLI/CLI.hpp>

#include "simulations/report/print.h"
#include "simulations/simulate.h"

namespace tephra {

void AddSimulateCommand(CLI::App& app, int& code) {
  struct Arguments {
    SimulateOptions options;
    std::string output = "text", directory;
    std::int64_t seed = 0;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Replay the cluster and the workload of a YAML file and report the outcome.");
  command->add_option("FILE", arguments->options.path, "the simulation, see docs/simulate.md")
      ->required();
  command->add_option("--output", arguments->output, "summary on stdout: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  CLI::Option* directory = command->add_option("--out", arguments->directory,
                                               "folder for tasks.csv, curve.csv and summary.json");
  CLI::Option* seed =
      command->add_option("--seed", arguments->seed, "instead of policies.seed of the file")
          ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  command->add_option("--journal", arguments->options.journal,
                      "record all that enters and leaves the engine, for tephra replay");
  command->callback([arguments, directory, seed, &code] {
    SimulateOptions& options = arguments->options;
    if (directory->count() > 0) options.directory = arguments->directory;
    if (seed->count() > 0) options.seed = static_cast<std::uint64_t>(arguments->seed);
    const absl::StatusOr<SimulateResult> result = RunSimulation(options);
    if (!result.ok()) {
      std::cerr << "tephra simulate: " << result.status().message() << "\n";
      code = 2;
    } else if (arguments->output == "json") {
      std::cout << JsonText(result->summary, result->curve);
    } else {
      PrintText(result->summary, std::cout);
    }
  });
}

}  // namespace tephra
