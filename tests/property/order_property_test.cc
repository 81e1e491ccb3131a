// The order in which equal facts arrive does not matter: only names decide.
#include "engine/engine.h"
#include "plugins/registry.h"
#include "tests/property/laws.h"
#include "tests/support/named_plan.h"
#include "tests/support/random_case.h"

namespace tephra {
namespace {

// Facts that must keep their order, because a later one speaks of an earlier one.
using Chain = std::vector<Event>;

// Some members of the jobs run already.
void AddRunningMembers(Dice& dice, const std::vector<NodeSpec>& nodes, Chain& chain) {
  const JobSpec job = std::get<JobUpserted>(chain.front()).job;
  for (const RoleSpec& role : job.gang.roles) {
    if (!dice.Percent(25)) continue;
    TaskFact fact;
    fact.uid = job.uid + role.name;
    fact.job = job.uid;
    fact.role = role.name;
    fact.index = dice.Below(role.replicas);
    fact.phase = TaskPhase::kRunning;
    const NodeSpec& node = dice.Pick(nodes);
    fact.node = node.name;
    fact.slices = RandomSlices(dice, role.pod, node);
    if (fact.slices.empty()) continue;  // to be guessed, by what came before
    chain.push_back(TaskUpserted{fact, 1});
  }
}

std::vector<Chain> ChainsOf(Dice& dice, const std::vector<Event>& events) {
  std::vector<NodeSpec> nodes;
  std::vector<Chain> chains;
  for (const Event& event : events) {
    if (const auto* e = std::get_if<NodeUpserted>(&event)) nodes.push_back(e->node);
    if (std::holds_alternative<KindsDeclared>(event)) continue;
    chains.push_back({event});
    if (std::holds_alternative<JobUpserted>(event)) AddRunningMembers(dice, nodes, chains.back());
  }
  return chains;
}

// One interleaving of the chains.
std::vector<Event> Interleave(Dice& dice, std::vector<Chain> chains) {
  std::vector<std::size_t> turns;
  for (std::size_t c = 0; c < chains.size(); ++c) turns.insert(turns.end(), chains[c].size(), c);
  dice.Shuffle(turns);
  std::vector<std::size_t> next(chains.size(), 0);
  std::vector<Event> events;
  for (std::size_t c : turns) events.push_back(chains[c][next[c]++]);
  return events;
}

NamedPlan PlanOf(const EngineConfig& config, const std::vector<Event>& events, std::string& text) {
  Engine engine(DefaultAssembly());
  REQUIRE(engine.Apply(ConfigChanged{config}).ok());
  REQUIRE(engine.Apply(kModelKinds).ok());
  for (const Event& event : events) {
    const absl::Status status = engine.Apply(event);
    INFO(status.ToString());
    REQUIRE(status.ok());
  }
  REQUIRE(engine.state().CheckBooks() == "");
  const Plan plan = engine.Tick(1);
  const NamedPlan named = NameOf(engine.state(), plan);
  text = Text(engine.state().books().kinds, named);
  return named;
}

TEST_CASE("The order in which equal facts arrive does not matter") {
  ForEachSeed(3000, [](std::uint64_t seed) {
    Dice dice(seed);
    EngineConfig config;
    if (dice.Percent(30)) config.ties = Ties::kRandom;
    if (dice.Percent(50)) config.node_scores = {{"spread", 1}, {"dotprod", 2}};
    config.seed = seed;
    const auto chains = ChainsOf(dice, RandomCase(dice, {.queue_limits = dice.Percent(50)}));
    std::string one, other;
    const NamedPlan first = PlanOf(config, Interleave(dice, chains), one);
    for (int i = 0; i < 3; ++i) {
      const NamedPlan again = PlanOf(config, Interleave(dice, chains), other);
      INFO("one order:\n" << one << "another:\n" << other);
      REQUIRE(first == again);
    }
  });
}

TEST_CASE("Facts sent in several cycles end in the same books as facts sent at once") {
  ForEachSeed(300, [](std::uint64_t seed) {
    Dice dice(seed);
    const auto chains = ChainsOf(dice, RandomCase(dice, {}));
    std::map<std::string, std::string> free;
    for (int i = 0; i < 2; ++i) {
      State state;
      REQUIRE(state.Apply(kModelKinds).ok());
      for (const Event& event : Interleave(dice, chains)) {
        REQUIRE(state.Apply(event).ok());
        if (i == 1 && dice.Percent(30)) state.Freeze(i);
      }
      const Snapshot snapshot = state.Freeze(9);
      for (NodeId node : snapshot.hardware().ranked()) {
        const NodeView view = snapshot.occupancy().View(snapshot.hardware(), node);
        std::string text;
        for (std::int64_t amount : view.row.free.amount) text += std::to_string(amount) + " ";
        for (const DeviceRow& row : view.devices) {
          text += std::to_string(row.free_compute) + "/" + std::to_string(row.free_memory_mib) +
                  "/" + std::to_string(row.users()) + " ";
        }
        if (i == 0) free[view.spec.name] = text;
        REQUIRE(free[view.spec.name] == text);
      }
    }
  });
}

}  // namespace
}  // namespace tephra
