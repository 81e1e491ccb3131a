#include "simulations/simulate.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "plugins/registry.h"
#include "sidecar/wire/journal_writer.h"
#include "sidecar/wire/journaled_engine.h"
#include "simulations/output_file.h"
#include "simulations/progress.h"
#include "simulations/report/print.h"
#include "simulations/report/recorder.h"
#include "simulations/workload/simulation_file.h"
#include "simulations/world.h"

namespace tephra {
namespace {

using File = std::unique_ptr<OutputFile>;

absl::StatusOr<File> CreateIn(const Outputs& outputs, const char* name, bool wanted) {
  if (outputs.directory.empty() || !wanted) return File();
  return OutputFile::Create((std::filesystem::path(outputs.directory) / name).string());
}

absl::Status WriteWhole(const File& file, const std::string& text) {
  if (file == nullptr) return absl::OkStatus();
  file->Write(text);
  return file->Close();
}

// Adds the file and the time to the error of a refused event.
absl::Status At(const Batch& batch, const std::string& file, const absl::Status& status) {
  return absl::Status(status.code(), file + ": at " + std::to_string(batch.time) +
                                         " ms: " + std::string(status.message()));
}

// Notifies both listeners.
class Both final : public WorldListener {
 public:
  Both(WorldListener& first, WorldListener* second) : first_(first), second_(second) {}
  void JobArrived(const JobRecord& job) override {
    first_.JobArrived(job);
    if (second_ != nullptr) second_->JobArrived(job);
  }
  void JobEnded(const JobRecord& job) override {
    first_.JobEnded(job);
    if (second_ != nullptr) second_->JobEnded(job);
  }

 private:
  WorldListener& first_;
  WorldListener* second_;
};

}  // namespace

absl::StatusOr<SimulateResult> RunSimulation(const SimulateOptions& options) {
  TEPHRA_ASSIGN_OR_RETURN(Simulation simulation,
                          LoadSimulation(options.path, {}, {options.trace, options.strict}));
  if (options.seed.has_value()) simulation.config.seed = *options.seed;
  if (options.directory.has_value()) simulation.outputs.directory = *options.directory;
  return RunSimulation(std::move(simulation), {.journal = options.journal, .stop = options.stop});
}

absl::StatusOr<SimulateResult> RunSimulation(Simulation simulation, const RunOptions& options) {
  const Outputs outputs = simulation.outputs;
  SimulateResult result;
  const std::string name = simulation.name, path = simulation.file;

  std::unique_ptr<JournalWriter> journal;
  if (!options.journal.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(journal, JournalWriter::Create(options.journal));
  }
  TEPHRA_ASSIGN_OR_RETURN(File tasks, CreateIn(outputs, "tasks.csv", outputs.tasks));
  TEPHRA_ASSIGN_OR_RETURN(File jobs, CreateIn(outputs, "jobs.csv", outputs.jobs));
  TEPHRA_ASSIGN_OR_RETURN(const File timeline, CreateIn(outputs, "timeline.csv", outputs.timeline));
  TEPHRA_ASSIGN_OR_RETURN(const File queues, CreateIn(outputs, "queues.csv", outputs.timeline));
  TEPHRA_ASSIGN_OR_RETURN(const File curve, CreateIn(outputs, "curve.csv", outputs.curve));
  TEPHRA_ASSIGN_OR_RETURN(const File json, CreateIn(outputs, "summary.json", true));

  std::optional<Engine> fresh;
  if (options.engine == nullptr) fresh.emplace(DefaultAssembly());
  JournaledEngine engine(fresh ? *fresh : *options.engine, journal.get());
  Recorder recorder(engine.state(), simulation.shapes, simulation.bandwidths, std::move(tasks),
                    std::move(jobs), outputs.large);
  TEPHRA_ASSIGN_OR_RETURN(std::unique_ptr<Arrivals> arrivals, TakeArrivals(simulation));
  const std::string trace = simulation.trace ? simulation.trace->path : "";
  const TimeMs origin = simulation.origin;
  const bool goes_on = simulation.handover.has_value();
  bool stopped = false;
  Both listeners(recorder, options.listener);
  World world(std::move(simulation), std::move(arrivals), engine.state(), &listeners);
  if (goes_on) recorder.BeginAt(world.now());
  {
    std::optional<Progress> progress;
    if (!options.one_of_many) progress.emplace("jobs");
    while (auto batch = world.Next()) {
      if (options.stop != nullptr && *options.stop) {
        if (options.one_of_many) return absl::CancelledError(path + ": interrupted");
        stopped = true;
        break;
      }
      for (const Event& event : batch->events) {
        const absl::Status status = engine.Apply(event);
        if (!status.ok()) return At(*batch, path, status);
      }
      const Plan plan = engine.Tick(origin + batch->time);
      world.Execute(plan);
      recorder.AfterCycle(batch->time, batch->events.size(), plan);
      world.Recycle(std::move(*batch));
      if (progress) progress->Show(world.arrived(), world.part_arrived());
    }
  }
  TEPHRA_RETURN_IF_ERROR(world.status());
  if (options.listener != nullptr) {
    for (const JobRecord* job : world.Jobs()) options.listener->JobLeft(*job);
  }
  result.summary = recorder.Finish(world, world.now());
  result.summary.name = name;
  result.summary.file = path;
  result.summary.interrupted = stopped;
  if (world.reading() != nullptr) result.summary.trace = TraceLine{trace, *world.reading()};
  result.curve = recorder.curve();
  if (journal != nullptr) TEPHRA_RETURN_IF_ERROR(journal->Close());
  TEPHRA_RETURN_IF_ERROR(recorder.CloseRows());
  const std::vector<TimeSeries::Row> rows = recorder.timeline().Rows();
  TEPHRA_RETURN_IF_ERROR(WriteWhole(timeline, TimelineCsv(rows)));
  TEPHRA_RETURN_IF_ERROR(WriteWhole(queues, QueuesCsv(rows, recorder.QueueNames())));
  TEPHRA_RETURN_IF_ERROR(WriteWhole(curve, CurveCsv(result.curve)));
  TEPHRA_RETURN_IF_ERROR(WriteWhole(json, JsonText(result.summary, result.curve)));
  // All files are on the disk. Now they appear.
  TEPHRA_RETURN_IF_ERROR(recorder.CommitRows());
  for (const File* file : {&timeline, &queues, &curve, &json}) {
    if (*file != nullptr) TEPHRA_RETURN_IF_ERROR((*file)->Commit());
  }
  return result;
}

}  // namespace tephra
