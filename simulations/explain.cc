#include "simulations/explain.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "plugins/framework/engine.h"
#include "plugins/registry.h"
#include "sidecar/wire/views.h"
#include "simulations/workload/simulation_file.h"
#include "simulations/world.h"
#include "text/format.h"

namespace tephra {
namespace {

// What is wrong with the file, whatever it is, so that NOT_FOUND is about the job alone.
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
    return absl::NotFoundError("job \"" + job + "\": there is none in " + path + " at " +
                               DurationText(now) + ": it has not come yet, is gone, or never was");
  }
  FillExplain(engine.state(), id, now, out);
  return absl::OkStatus();
}

}  // namespace tephra
