#include "simulations/simulate_command.h"

#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>

#include <CLI/CLI.hpp>

#include "simulations/interrupt.h"
#include "simulations/report/print.h"
#include "simulations/simulate.h"

namespace tephra {

void AddSimulateCommand(CLI::App& app, int& code) {
  struct Arguments {
    SimulateOptions options;
    std::string output = "text", directory, trace;
    std::int64_t seed = 0;
  };
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "simulate", "Simulate the cluster and the jobs of a YAML file, and print a summary.");
  command
      ->add_option("FILE", arguments->options.path, "simulation file (docs/reference/simulate.md)")
      ->required();
  command
      ->add_option("--output", arguments->output, "format of the summary on stdout: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  CLI::Option* trace =
      command->add_option("--trace", arguments->trace,
                          "trace file that replaces workload.trace.file of the simulation file");
  command->add_flag("--strict", arguments->options.strict,
                    "exit with an error instead of skipping a faulty trace line");
  CLI::Option* directory = command->add_option(
      "--out", arguments->directory,
      "folder for tasks.csv, jobs.csv, summary.json and the other output files");
  CLI::Option* seed =
      command->add_option("--seed", arguments->seed, "random seed to use instead of policies.seed")
          ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  command->add_option(
      "--journal", arguments->options.journal,
      "record all events and plans in this file, for tephra replay and tephra whatif");
  command->footer(
      "Exit codes: 0 success; 2 bad input or usage; 130 interrupted (the results so far are "
      "written).");
  command->callback([arguments, directory, seed, trace, &code] {
    SimulateOptions& options = arguments->options;
    if (directory->count() > 0) options.directory = arguments->directory;
    if (seed->count() > 0) options.seed = static_cast<std::uint64_t>(arguments->seed);
    if (trace->count() > 0) options.trace = arguments->trace;
    options.stop = StopOnSignal();
    const absl::StatusOr<SimulateResult> result = RunSimulation(options);
    if (!result.ok()) {
      std::cerr << "tephra simulate: " << result.status().message() << "\n";
      code = 2;
      return;
    }
    if (result->summary.interrupted) {
      std::cerr << "tephra simulate: interrupted; the results so far are written\n";
      code = kInterrupted;
    }
    if (arguments->output == "json") {
      std::cout << JsonText(result->summary, result->curve);
    } else {
      PrintText(result->summary, std::cout);
    }
  });
}

}  // namespace tephra
