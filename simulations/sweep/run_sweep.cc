#include "simulations/sweep/run_sweep.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include "base/text_file.h"
#include "simulations/output_file.h"
#include "simulations/progress.h"
#include "simulations/simulate.h"
#include "simulations/sweep/run_inputs.h"
#include "simulations/workload/simulation_file.h"

namespace tephra {
namespace {

using Figures = SweepOutcome::Figures;

// None if the folder has no summary.
std::optional<Figures> ReadFigures(const Sweep& sweep, const std::string& folder) {
  std::ifstream file(folder + "/summary.json");
  try {
    const auto summary = nlohmann::ordered_json::parse(file);
    Figures figures;
    for (const Metric& metric : sweep.metrics) figures.push_back(metric.read(summary));
    return figures;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

struct Made {
  Figures figures;
  bool kept = false;  // reused
};

absl::StatusOr<Made> MakeRun(const Sweep& sweep, const SweepRun& run, const SweepOptions& options) {
  const std::string folder = options.directory + "/" + NameOf(sweep, run);
  const std::string mark = folder + "/inputs.txt";
  TEPHRA_ASSIGN_OR_RETURN(Simulation simulation,
                          LoadSimulation(sweep.simulation, DocumentOf(sweep, run)));
  const std::string inputs = RunInputs(options.program, simulation);
  const absl::StatusOr<std::string> known = ReadTextFile(mark, inputs.size() + 1);
  if (known.ok() && *known == inputs) {
    if (auto figures = ReadFigures(sweep, folder)) return Made{*std::move(figures), true};
  }
  std::error_code error;
  std::filesystem::remove(mark, error);
  simulation.outputs.directory = folder;
  const absl::StatusOr<SimulateResult> result =
      RunSimulation(std::move(simulation), {"", options.stop, true});
  if (!result.ok()) return result.status();
  TEPHRA_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::Create(mark));
  file->Write(inputs);
  TEPHRA_RETURN_IF_ERROR(file->Commit());
  auto figures = ReadFigures(sweep, folder);
  if (!figures)
    return absl::UnavailableError(folder +
                                  "/summary.json: cannot read the file that was just written");
  return Made{*std::move(figures), false};
}

}  // namespace

SweepOutcome RunSweep(const Sweep& sweep, const SweepOptions& options) {
  const std::vector<SweepRun> runs = RunsOf(sweep);
  SweepOutcome outcome;
  outcome.runs.resize(runs.size());
  std::vector<absl::Status> statuses(runs.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;  // of outcome's sums and the progress bar
  Progress progress("runs");
  const auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  const auto work = [&] {
    for (std::size_t r = next++; r < runs.size() && !stopped(); r = next++) {
      absl::StatusOr<Made> made = MakeRun(sweep, runs[r], options);
      const std::lock_guard lock(mutex);
      statuses[r] = made.status();
      if (made.ok()) {
        outcome.runs[r] = std::move(made->figures);
        ++(made->kept ? outcome.kept : outcome.made);
      }
      const std::size_t done = outcome.made + outcome.kept;
      progress.Show(done, PartOf(done, runs.size()));
    }
  };
  std::vector<std::thread> threads;
  const std::size_t most =
      std::min<std::size_t>(runs.size(), static_cast<std::size_t>(std::max(options.threads, 1)));
  for (std::size_t t = 1; t < most; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (statuses[r].ok() || absl::IsCancelled(statuses[r])) continue;
    outcome.failures.push_back(NameOf(sweep, runs[r]) + ": " + std::string(statuses[r].message()));
  }
  outcome.interrupted = outcome.made + outcome.kept + outcome.failures.size() < runs.size();
  return outcome;
}

}  // namespace tephra
