// The laws of gangs, judged by the oracle (tests/support/room.h) on instances of at most 6 nodes
// and 8 jobs.
#include "engine/engine.h"
#include "plugins/registry.h"
#include "tests/property/laws.h"
#include "tests/support/mirror.h"
#include "tests/support/random_case.h"

namespace tephra {
namespace {

constexpr CaseSize kSmall{.nodes = 6, .devices = 4, .jobs = 8, .tasks = 6, .queue_limits = false};

// Tells both the engine and the mirror.
void Tell(Engine& engine, Mirror& mirror, const Event& event) {
  const absl::Status status = engine.Apply(event);
  INFO(status.ToString());
  REQUIRE(status.ok());
  mirror.Apply(event);
}

NamedPlan TickNamed(Engine& engine, TimeMs now) {
  const Plan plan = engine.Tick(now);
  return NameOf(engine.state(), plan);
}

CaseSize RandomSize(Dice& dice) {
  CaseSize size = kSmall;
  if (dice.Percent(50)) return size;
  size.intricate = true;
  size.nodes = 2;
  size.jobs = 4;
  return size;
}

EngineConfig RandomConfig(Dice& dice) {
  EngineConfig config;
  config.node_scores = {{dice.Percent(50) ? "binpack" : "spread", 1}};
  config.device_scores = {{dice.Percent(50) ? "binpack" : "spread", 1}};
  if (dice.Percent(20)) config.ties = Ties::kRandom;
  config.seed = dice.Next();
  // Evictions have laws of their own (eviction_property_test).
  config.disabled_actions = {"reclaim", "preempt"};
  config.reservations.mode = ReservationSettings::Mode::kNone;  // so have refusals because of a reservation
  return config;
}

TEST_CASE(
    "A gang in its turn starts exactly if some placement of it exists beside those before it") {
  int asked = 0, ended = 0;
  ForEachSeed(5000, [&](std::uint64_t seed) {
    Dice dice(seed);
    Engine engine(DefaultAssembly());
    Mirror mirror;
    Tell(engine, mirror, ConfigChanged{RandomConfig(dice)});
    for (const Event& event : RandomCase(dice, RandomSize(dice))) Tell(engine, mirror, event);
    const NamedPlan plan = TickNamed(engine, 1);
    INFO("the plan:\n" << Text(engine.state().books().kinds, plan));
    REQUIRE(mirror.Follow(plan, 1, Mirror::Judge::kExactness) == "");
    REQUIRE(engine.state().CheckBooks() == "");
    asked += mirror.asked();
    ended += mirror.searches_ended();
    if (mirror.searches_ended() > 0) WARN("given up on: TEPHRA_PROPERTY_SEED=" << seed);
  });
  WARN(ended << " of " << asked << " gangs were given up on for want of search budget");
  // None in the ordinary run. Of very many, one in 100,000 has been seen.
  CHECK(ended <= asked / 50000);
}

TEST_CASE("More capacity never turns a start or a wait into infeasible") {
  ForEachSeed(600, [](std::uint64_t seed) {
    Dice dice(seed);
    const std::vector<Event> events = RandomCase(dice, kSmall);
    std::map<std::string, Verdict> before;
    Engine small(DefaultAssembly());
    for (const Event& event : events) REQUIRE(small.Apply(event).ok());
    for (const NamedDecision& decision : TickNamed(small, 1).decisions) {
      if (decision.part == Part::kMinimum) before[decision.job] = decision.verdict;
    }

    Engine large(DefaultAssembly());
    for (Event event : events) {
      if (auto* node = std::get_if<NodeUpserted>(&event); node != nullptr && dice.Percent(50)) {
        if (!node->node.devices.empty()) {
          node->node.devices.push_back(node->node.devices.back());
          node->node.devices.back().uuid.clear();
        }
        node->node.allocatable[kCpu] += 2000;
        node->node.allocatable[kPods] += 1;
      }
      REQUIRE(large.Apply(event).ok());
    }
    NodeSpec more = RandomNode(dice, "more", kSmall);
    REQUIRE(large.Apply(NodeUpserted{more, 1}).ok());
    const NamedPlan plan = TickNamed(large, 1);
    INFO("the plan:\n" << Text(large.state().books().kinds, plan));
    for (const NamedDecision& decision : plan.decisions) {
      if (decision.verdict != Verdict::kInfeasible) continue;
      INFO("job " << decision.job << " had the verdict " << VerdictWord(before[decision.job]));
      REQUIRE(before[decision.job] == Verdict::kInfeasible);
    }
  });
}

TEST_CASE("A gang that starts alone on a cluster starts on the same cluster with a node more") {
  ForEachSeed(600, [](std::uint64_t seed) {
    Dice dice(seed);
    CaseSize one = kSmall;
    one.jobs = 1;
    const std::vector<Event> events = RandomCase(dice, one);
    Engine small(DefaultAssembly()), large(DefaultAssembly());
    for (const Event& event : events) {
      REQUIRE(small.Apply(event).ok());
      REQUIRE(large.Apply(event).ok());
    }
    REQUIRE(large.Apply(NodeUpserted{RandomNode(dice, "a-first", kSmall), 1}).ok());
    const NamedPlan before = TickNamed(small, 1), after = TickNamed(large, 1);
    if (before.decisions.empty()) return;  // it awaits its pods
    if (before.decisions[0].verdict == Verdict::kStart) {
      REQUIRE(after.decisions[0].verdict == Verdict::kStart);
    }
  });
}

}  // namespace
}  // namespace tephra
