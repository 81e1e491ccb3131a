#include "simulations/sweep_command.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "sidecar/lock_file.h"
#include "simulations/interrupt.h"
#include "simulations/sweep/comparison.h"
#include "simulations/sweep/run_inputs.h"
#include "simulations/sweep/run_sweep.h"
#include "simulations/sweep/sweep_file.h"

namespace tephra {
namespace {

constexpr std::size_t kMostFailures = 20;  // that are told one by one

struct SweepArguments {
  std::string path, trace, output = "text";
  SweepChoice choice;
  SweepOptions options;
};

int SaySwept(const std::string& text, int code) {
  std::cerr << "tephra sweep: " << text << "\n";
  return code;
}

int RunAndCompare(const SweepArguments& arguments) {
  const absl::StatusOr<Sweep> sweep = LoadSweep(arguments.path, arguments.choice);
  if (!sweep.ok()) return SaySwept(std::string(sweep.status().message()), 2);
  std::error_code error;
  std::filesystem::create_directories(arguments.options.directory, error);
  const auto lock = LockFile(arguments.options.directory + "/.lock", LockedBefore::kRefuse);
  if (!lock.ok()) {
    return SaySwept("--out: " + std::string(lock.status().message()), 2);
  }
  const SweepOutcome outcome = RunSweep(*sweep, arguments.options);
  const std::size_t shown = std::min(outcome.failures.size(), kMostFailures);
  for (std::size_t f = 0; f < shown; ++f) SaySwept(outcome.failures[f], 2);
  const std::string count = std::to_string(outcome.made) + " runs made, " +
                            std::to_string(outcome.kept) + " were there, " +
                            std::to_string(outcome.failures.size()) + " failed, of " +
                            std::to_string(outcome.runs.size());
  if (outcome.interrupted) {
    return SaySwept("interrupted: " + count + "; the same command goes on from there",
                    kInterrupted);
  }
  SaySwept(count, 0);
  const std::vector<ComparisonRow> rows = Compare(*sweep, outcome.runs);
  if (arguments.output == "json") {
    std::cout << ComparisonJson(*sweep, rows);
  } else if (arguments.output == "csv") {
    std::cout << ComparisonCsv(*sweep, rows);
  } else {
    PrintComparison(*sweep, rows, std::cout);
  }
  return outcome.failures.empty() ? 0 : 2;
}

}  // namespace

void AddSweepCommand(CLI::App& app, int& code) {
  const auto arguments = std::make_shared<SweepArguments>();
  SweepOptions& options = arguments->options;
  options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  CLI::App* command = app.add_subcommand(
      "sweep", "Run a simulation under several policies, loads and seeds, and compare them.");
  command->add_option("FILE", arguments->path, "what to vary, see docs/sweep.md")->required();
  command->add_option("--out", options.directory, "folder of the runs, POLICY/LOAD/SEED each")
      ->required();
  command->add_option("--jobs", options.threads, "so many runs at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag(
      "--files", arguments->choice.files,
      "keep all files of each run, as tephra report reads them, not summary.json alone");
  CLI::Option* trace = command->add_option("--trace", arguments->trace,
                                           "instead of workload.trace.file of the simulation");
  command->add_option("--output", arguments->output, "comparison on stdout: text, json or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  command->footer(
      "Runs that are there, made from the same inputs, are not made again.\n"
      "Exit codes: 0 done; 2 bad input, or a run failed: the others are compared; 130 interrupted: "
      "what was finished stays.");
  command->callback([arguments, trace, &code] {
    if (trace->count() > 0) arguments->choice.trace = arguments->trace;
    arguments->options.program = "tephra " TEPHRA_VERSION ", " + FileStamp("/proc/self/exe");
    arguments->options.stop = StopOnSignal();
    code = RunAndCompare(*arguments);
  });
}

}  // namespace tephra
