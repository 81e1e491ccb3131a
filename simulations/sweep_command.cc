#include "simulations/sweep_command.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/lock_file.h"
#include "simulations/interrupt.h"
#include "simulations/sweep/comparison.h"
#include "simulations/sweep/run_inputs.h"
#include "simulations/sweep/run_sweep.h"
#include "simulations/sweep/sweep_file.h"

namespace tephra {
namespace {

constexpr std::size_t kMostFailures = 20;  // printed one by one

struct SweepArguments {
  std::string path, trace, output = "text";
  SweepChoice choice;
  SweepOptions options;
};

int Report(const std::string& text, int code) {
  std::cerr << "tephra sweep: " << text << "\n";
  return code;
}

int RunAndCompare(const SweepArguments& arguments) {
  const absl::StatusOr<Sweep> sweep = LoadSweep(arguments.path, arguments.choice);
  if (!sweep.ok()) return Report(std::string(sweep.status().message()), 2);
  std::error_code error;
  std::filesystem::create_directories(arguments.options.directory, error);
  const auto lock = LockFile(arguments.options.directory + "/.lock", LockedBefore::kRefuse);
  if (!lock.ok()) {
    return Report("--out: " + std::string(lock.status().message()), 2);
  }
  const SweepOutcome outcome = RunSweep(*sweep, arguments.options);
  const std::size_t shown = std::min(outcome.failures.size(), kMostFailures);
  for (std::size_t f = 0; f < shown; ++f) Report(outcome.failures[f], 2);
  const std::string count = std::to_string(outcome.made) + " runs finished, " +
                            std::to_string(outcome.kept) + " reused, " +
                            std::to_string(outcome.failures.size()) + " failed, " +
                            std::to_string(outcome.runs.size()) + " in total";
  if (outcome.interrupted) {
    return Report("interrupted: " + count + "; run the same command again to continue",
                  kInterrupted);
  }
  Report(count, 0);
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
      "sweep",
      "Run one simulation with several policies, loads and seeds, and compare the results.");
  command->add_option("FILE", arguments->path, "sweep file (docs/reference/sweep.md)")->required();
  command
      ->add_option("--out", options.directory,
                   "folder for the runs; each run has the folder POLICY/LOAD/SEED in it")
      ->required();
  command->add_option("--jobs", options.threads, "number of runs at the same time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--files", arguments->choice.files,
                    "write all output files of each run, so that tephra report can show it "
                    "(default: summary.json only)");
  CLI::Option* trace =
      command->add_option("--trace", arguments->trace,
                          "trace file that replaces workload.trace.file of the simulation file");
  command
      ->add_option("--output", arguments->output,
                   "format of the comparison on stdout: text, json or csv")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  command->footer(
      "A finished run is reused as long as its inputs and the program are unchanged.\n"
      "Exit codes: 0 success; 2 bad input or usage, or a run failed (the other runs are compared); "
      "130 interrupted (finished runs are kept).");
  command->callback([arguments, trace, &code] {
    if (trace->count() > 0) arguments->choice.trace = arguments->trace;
    arguments->options.program = "tephra " TEPHRA_VERSION ", " + FileStamp("/proc/self/exe");
    arguments->options.stop = StopOnSignal();
    code = RunAndCompare(*arguments);
  });
}

}  // namespace tephra
