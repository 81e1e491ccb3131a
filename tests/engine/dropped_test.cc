// An engine drops the decisions that the Verifier catches, and refuses a wrong configuration.
#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "engine/verify.h"
#include "tests/engine/verify_bench.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

// Puts every task on the first node, as if it had room.
class Careless final : public Placer {
 public:
  Answer Place(Workbench& bench, const GangAsk& ask) const override {
    const NodeId first = bench.ledger().snapshot().hardware().ranked().front();
    for (const RoleAsk& role : ask.roles) {
      for (TaskId task : role.tasks) bench.ledger().Charge(role.cls, ask.queue, {task, first, {}});
    }
    Answer answer;
    answer.outcome = Outcome::kPlaced;
    return answer;
  }
};

Assembly WithCarelessPlacer() {
  Assembly assembly = DefaultAssembly();
  assembly.policies = [sound = assembly.policies](const EngineConfig& config,
                                                  std::shared_ptr<const Score> score) {
    Policies policies = sound(config, std::move(score));
    policies.placer = std::make_unique<Careless>();
    return policies;
  };
  return assembly;
}

class Ear final : public CycleObserver {
 public:
  void PassBegins(std::string_view action) override { passes.push_back("+" + std::string(action)); }
  void PassEnds(std::string_view action) override { passes.push_back("-" + std::string(action)); }
  void DecisionDropped(const Snapshot&, const Decision&, const std::string& why) override {
    dropped.push_back(why);
  }
  std::vector<std::string> passes, dropped;
};

TEST_CASE(
    "Engine: a decision that fails verification is dropped, reported, and its gang quarantined") {
  SmallCluster cluster({}, WithCarelessPlacer());
  Ear ear;
  cluster.engine().Observe(&ear);
  cluster.Add(ANode("n").Cores(4)).Add(AJob("big").Role("w", 1, APod().Cores(8)));
  cluster.Add(AJob("fits").Role("w", 1, APod().Cores(4)));
  const NamedPlan& plan = cluster.Tick();
  CHECK(plan.dropped == std::vector<std::string>{"big"});
  REQUIRE(plan.decisions.size() == 1);
  CHECK(plan.decisions[0].job == "fits");
  REQUIRE(ear.dropped.size() == 1);
  Says(ear.dropped[0], "cpu 8000 of 4000");
  CHECK(ear.passes == std::vector<std::string>{"+allocate", "-allocate", "+consolidate",
                                               "-consolidate", "+repair", "-repair"});
  CHECK(cluster.job("big").quarantined);

  // It is not tried again, whatever happens to other jobs.
  cluster.Tick(1);
  cluster.Add(ANode("z").Cores(64)).Tick(2);
  CHECK(cluster.Of("big").reason->obstacle == Obstacle::kQuarantine);
  CHECK(cluster.plan().dropped.empty());
  // Its own facts change: it may try again.
  cluster.Add(AJob("big").Role("w", 1, APod().Cores(0))).Tick(3);
  CHECK(cluster.Started("big"));
}

TEST_CASE("Engine: what a dropped decision had charged is free for the next cycle") {
  SmallCluster cluster({}, WithCarelessPlacer());
  cluster.Add(ANode("n").Cores(4)).Add(AJob("a").Role("w", 1, APod().Cores(8)));
  cluster.Tick();
  cluster.Add(AJob("b").Role("w", 1, APod().Cores(4))).Tick(1);
  CHECK(cluster.Started("b"));
}

TEST_CASE("Engine: an action that is disabled does nothing") {
  EngineConfig config;
  config.disabled_actions = {"allocate"};
  SmallCluster cluster(config);
  cluster.Add(ANode("n")).Add(AJob("j").Role("w", 1, APod()));
  CHECK(cluster.Tick().decisions.empty());
}

TEST_CASE("Engine: a wrong configuration is refused by name and changes nothing") {
  Engine engine(DefaultAssembly());
  const auto refused = [&](EngineConfig config, const std::string& part) {
    const absl::Status status = engine.Apply(ConfigChanged{config});
    CHECK_FALSE(status.ok());
    Says(std::string(status.message()), part);
    CHECK(engine.state().books().config == EngineConfig{});
  };
  EngineConfig config;
  config.node_scores = {{"fastest", 1}};
  refused(config, "fastest");
  config = {};
  config.node_scores = {};
  refused(config, "node_scores");
  config = {};
  config.device_scores = {{"binpack", 0}};
  refused(config, "weight: 0");
  config = {};
  config.node_scores = {{"fgd", 1}};
  refused(config, "expected_pods");
  config = {};
  config.search_budget = -1;
  refused(config, "search_budget: -1");
  config = {};
  config.assume_timeout_ms = 0;
  refused(config, "assume_timeout: 0s");
  config = {};
  config.full_verify_every = -1;
  refused(config, "full_verify_every: -1");
  config = {};
  config.disabled_actions = {"allocate", "alocate"};
  refused(config, "\"alocate\", expected one of allocate");
  config = {};
  config.expected_pods = {{1000, 1, 1000, {}, 1.5}};
  refused(config, "share: 1.5");
  config.expected_pods = {{1000, 1, 1001, {}, 0.5}};
  refused(config, "gpu_share: 1.001");
}

}  // namespace
}  // namespace tephra
