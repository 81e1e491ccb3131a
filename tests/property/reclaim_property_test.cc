// Laws of reclaim over time: what a queue deserves comes back in time, and evictions come to an end.
#include <string>

#include "engine/engine.h"
#include "plugins/registry.h"
#include "simulations/workload/simulation_file.h"
#include "simulations/world.h"
#include "tests/property/laws.h"
#include "tests/support/dice.h"

namespace tephra {
namespace {

constexpr std::int64_t kMinuteMs = 60 * kSecondMs;

// Runs the simulation to its end. The jobs that are left are then in world.Jobs().
template <class Check>
void RunToItsEnd(const std::string& text, Check check) {
  INFO(text);
  auto read = ParseSimulation("law.yaml", text);
  INFO(read.status().message());
  REQUIRE(read.ok());
  auto arrivals = TakeArrivals(*read);
  REQUIRE(arrivals.ok());
  Engine engine(DefaultAssembly());
  World world(std::move(*read), std::move(*arrivals), engine.state(), nullptr);
  while (auto batch = world.Next()) {
    for (const Event& event : batch->events) REQUIRE(engine.Apply(event).ok());
    world.Execute(engine.Tick(batch->time));
  }
  REQUIRE(world.status().ok());
  check(world);
}

std::string Minutes(std::int64_t minutes) { return std::to_string(minutes) + "m"; }

std::string Policies(Dice& dice, std::int64_t quota_patience) {
  return "policies: { reclaim: { max_loss_percent: " + std::to_string(dice.Pick<int>({0, 10, 100})) +
         ", patience: " + Minutes(dice.Pick<int>({0, 30, 240, 1440})) +
         ", quota_patience: " + Minutes(quota_patience) +
         ", restart_cost: " + Minutes(dice.Pick<int>({0, 10, 60})) + " } }\n";
}

TEST_CASE("What a queue deserves comes back within quota_patience, whatever is lost") {
  int waited = 0;
  ForEachSeed(150, [&](std::uint64_t seed) {
    Dice dice(seed + 41000000);
    const int nodes = dice.From(1, 3), lenders = dice.From(1, 2);
    const std::int64_t patience = dice.Pick<int>({0, 1, 17, 90});
    std::int64_t deserved = dice.From(1, 8 * nodes);
    std::string text = "cluster: { nodes: " + std::to_string(nodes) + ", gpus_per_node: 8 }\n" +
                       "queues:\n  - { name: owner, deserved: { gpu: " + std::to_string(deserved) +
                       " } }\n";
    for (int q = 0; q < lenders; ++q) text += "  - { name: lent-" + std::to_string(q) + " }\n";
    text += Policies(dice, patience) + "jobs:\n";
    for (int q = 0; q < lenders; ++q) {
      text += "  - { name: l" + std::to_string(q) + ", queue: lent-" + std::to_string(q) +
              ", copies: " + std::to_string(8 * nodes) + ", gpus: 1, at: 1s, checkpoint_interval: " +
              Minutes(dice.Pick<int>({0, 5, 30})) + " }\n";
    }
    for (int j = 0; deserved > 0; ++j) {
      const int gpus = dice.From(1, static_cast<int>(std::min<std::int64_t>(deserved, 8)));
      deserved -= gpus;
      text += "  - { name: o" + std::to_string(j) + ", queue: owner, members: " +
              std::to_string(gpus) + ", gpus: 1, at: " + Minutes(dice.From(1, 300)) + " }\n";
    }
    text += "until: 12h\n";
    RunToItsEnd(text, [&](const World& world) {
      for (const JobRecord* job : world.Jobs()) {
        if (*job->queue != "owner") continue;
        INFO(job->name << " came at " << job->arrival << " and started at " << job->start);
        REQUIRE(job->start >= 0);
        // Times at which jobs are asked again are whole minutes.
        REQUIRE(job->start <= job->arrival + (patience == 0 ? 0 : (patience + 1) * kMinuteMs));
        waited += job->start > job->arrival;
      }
    });
  });
  if (AllSeeds()) CHECK(waited > 50);
}

TEST_CASE("Evictions come to an end when nothing else changes") {
  int evicted = 0;
  ForEachSeed(150, [&](std::uint64_t seed) {
    Dice dice(seed + 42000000);
    const int nodes = dice.From(1, 4), queues = dice.From(2, 4);
    std::string text = "cluster: { nodes: " + std::to_string(nodes) + ", gpus_per_node: " +
                       std::to_string(dice.From(3, 9)) + " }\nqueues:\n";
    for (int q = 0; q < queues; ++q) {
      text += "  - { name: q" + std::to_string(q) + ", weight: " + std::to_string(dice.From(1, 3)) +
              (dice.Percent(30) ? ", deserved: { gpu: " + std::to_string(dice.From(1, 6)) + " }" : "") +
              " }\n";
    }
    text += Policies(dice, dice.Pick<int>({0, 60})) + "jobs:\n";
    const int jobs = dice.From(4, 14);
    for (int j = 0; j < jobs; ++j) {
      const int members = dice.From(1, 4);
      text += "  - { name: j" + std::to_string(j) + ", queue: q" +
              std::to_string(dice.From(0, queues - 1)) + ", members: " + std::to_string(members) +
              ", min: " + std::to_string(dice.From(1, members)) + ", gpus: " +
              std::to_string(dice.From(1, 3)) + ", at: " + Minutes(dice.From(1, 600)) +
              ", checkpoint_interval: " + Minutes(dice.Pick<int>({0, 10})) + " }\n";
    }
    text += "until: 1200h\n";
    RunToItsEnd(text, [&](const World& world) {
      for (const JobRecord* job : world.Jobs()) {
        INFO(job->name << ": " << job->evictions << " evictions, the last at " << job->evicted_at);
        REQUIRE(job->evicted_at < 900 * 60 * kMinuteMs);
        evicted += job->evictions;
      }
    });
  });
  if (AllSeeds()) CHECK(evicted > 100);
}

}  // namespace
}  // namespace tephra
