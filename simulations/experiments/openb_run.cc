#include "simulations/experiments/openb_run.h"

#include "plugins/registry.h"
#include "simulations/world.h"

namespace tephra {
namespace {

// Sums the requested GPUs.
class Demand final : public WorldListener {
 public:
  void JobArrived(const JobRecord& job) override {
    arrived += job.gpu_demand();
    ++jobs;
  }
  void JobEnded(const JobRecord& job) override { dropped += job.dropped; }

  std::int64_t arrived = 0, jobs = 0, dropped = 0;
};

}  // namespace

const std::vector<OpenbPolicy>& OpenbPolicies() {
  static const std::vector<OpenbPolicy> kPolicies = {{"01-Random", "random", true},
                                                     {"02-DotProd", "dotprod", false},
                                                     {"03-GpuClustering", "gpuclustering", false},
                                                     {"04-GpuPacking", "gpupacking", false},
                                                     {"05-BestFit", "bestfit", false},
                                                     {"06-FGD", "fgd", false}};
  return kPolicies;
}

EngineConfig OpenbConfig(const OpenbPolicy& policy, std::uint64_t seed,
                         std::vector<ExpectedPod> expected) {
  EngineConfig config;
  config.node_scores = {{policy.score, 1}};
  config.device_scores = {{policy.score, 1}};
  config.ties = policy.random ? Ties::kRandom : Ties::kFirstName;
  config.seed = seed;
  config.expected_pods = std::move(expected);
  return config;
}

absl::StatusOr<OpenbResult> RunOpenb(const std::vector<NodeSpec>& nodes,
                                     std::shared_ptr<const OpenbPods> pods,
                                     std::shared_ptr<const OpenbOrder> order,
                                     const EngineConfig& config) {
  Simulation simulation;
  simulation.nodes = nodes;
  simulation.queues.emplace_back().name = "default";
  simulation.config = config;
  simulation.unstarted = Unstarted::kDropped;

  Engine engine(DefaultAssembly());
  Demand demand;
  World world(std::move(simulation), OrderedOpenbArrivals(std::move(pods), std::move(order)),
              engine.state(), &demand);
  const Books& books = engine.state().books();
  OpenbResult result;
  std::int64_t jobs = 0;
  while (auto batch = world.Next()) {
    for (const Event& event : batch->events) TEPHRA_RETURN_IF_ERROR(engine.Apply(event));
    world.Execute(engine.Tick(batch->time));
    if (demand.jobs == jobs) continue;
    jobs = demand.jobs;
    const std::int64_t total = books.hardware.total()[kGpu];
    result.curve.Add(demand.arrived, total - books.occupancy.free_total()[kGpu], 0, total);
  }
  TEPHRA_RETURN_IF_ERROR(world.status());
  result.pods = jobs;
  result.dropped = demand.dropped;
  result.placed = jobs - demand.dropped;
  return result;
}

}  // namespace tephra
