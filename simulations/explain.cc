#include "simulations/explain.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/engine.h"
#include "plugins/registry.h"
#include "sidecar/wire/views.h"
#include "simulations/workload/simulation_file.h"
#include "simulations/world.h"
#include "text/format.h"

namespace tephra {
namespace {

// Any error of the file, as INVALID_ARGUMENT. NOT_FOUND means only that the job does not exist.
absl::Status BadFile(const absl::Status& why) {
  return absl::InvalidArgumentError(std::string(why.message()));
}

}  // namespace

absl::Status ExplainInSimulation(const std::string& path, std::optional<TimeMs> at,
                                 const std::string& job, v1::ExplainReply* out) {
  absl::StatusOr<Simulation> simulation = LoadSimulation(path);
  if (!simulation.ok()) return BadFile(simulation.status());
  Engine engine(DefaultAssembly());
  absl::StatusOr<std::unique_ptr<Arrivals>> arrivals = TakeArrivals(*simulation);
  if (!arrivals.ok()) return BadFile(arrivals.status());
  World world(*std::move(simulation), *std::move(arrivals), engine.state());
  TimeMs now = 0;
  while (auto batch = world.Next()) {
    if (at.has_value() && batch->time > *at) break;
    now = batch->time;
    for (const Event& event : batch->events) {
      const absl::Status status = engine.Apply(event);
      if (status.ok()) continue;
      return absl::Status(
          status.code(), path + ": at " + DurationText(now) + ": " + std::string(status.message()));
    }
    world.Execute(engine.Tick(now));
  }
  if (!world.status().ok()) return BadFile(world.status());
  now = std::max(now, at.value_or(now));
  const JobId id = FindJob(engine.state().books(), job);
  if (!id.valid()) {
    return absl::NotFoundError(
        "job \"" + job + "\": not found in " + path + " at " + DurationText(now) +
        "; expected a job that has been submitted and has not ended by then");
  }
  FillExplain(engine.state(), id, now, out);
  return absl::OkStatus();
}

}  // namespace tephra
