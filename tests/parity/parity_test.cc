// The border changes nothing: what an engine in this process decides, an engine behind the socket
// decides, byte for byte.
#include <filesystem>

#include <catch2/catch.hpp>

#include "plugins/registry.h"
#include "sidecar/wire/plan_codec.h"
#include "simulations/workload/simulation_file.h"
#include "simulations/world.h"
#include "tests/property/laws.h"
#include "tests/sidecar/running_server.h"
#include "tests/sidecar/scheduler_client.h"
#include "tests/support/mirror.h"
#include "tests/support/random_history.h"

namespace tephra {
namespace {

// An engine here and one there, with the same facts and cycles at the same times.
class Pair {
 public:
  Pair() : client_(ConnectTo(running_.socket())) { REQUIRE(client_.connected()); }

  // The plan of the one here; the test stops where the other one is not the same.
  Plan Cycle(const std::vector<Event>& events, TimeMs now) {
    std::vector<Event> sent;
    Inbox inbox;
    for (const Event& event : events) {
      if (const auto* changed = std::get_if<ConfigChanged>(&event)) {
        Configure(changed->config);
      } else {
        sent.push_back(event);
        inbox.Add({event, 0, 0});
      }
    }
    if (!synced_) {
      REQUIRE(here_.Apply(ConfigChanged{config_}).ok());
      for (const Event& event : sent) CountRefusal(here_.Apply(event));
      client_.Sync(sent, 3);
      synced_ = true;
    } else {
      for (const Received& fact : inbox.Take()) CountRefusal(here_.Apply(fact.event));
      // In several messages, as they come.
      for (const Event& event : sent) client_.Delta({event});
    }
    Plan plan = here_.Tick(now);
    const std::string bytes = PlanBytes(plan, here_.state().books());
    const v1::ScheduleReply reply = client_.Cycle(now);
    REQUIRE(reply.has_cycle());
    REQUIRE(reply.cycle().plan().SerializeAsString() == bytes);
    REQUIRE(static_cast<int>(client_.refused.size()) == refused_);
    return plan;
  }

  Engine& here() { return here_; }

 private:
  void CountRefusal(const absl::Status& status) { refused_ += status.ok() ? 0 : 1; }

  void Configure(const EngineConfig& config) {
    config_ = config;
    running_.owner.Run([&] { running_.live.ChangeConfig(config); });
    // A sync begins with the configuration, however often it changed before.
    if (synced_) REQUIRE(here_.Apply(ConfigChanged{config}).ok());
  }

  RunningServer running_;
  SchedulerClient client_;
  Engine here_{DefaultAssembly()};
  EngineConfig config_;  // in force
  bool synced_ = false;
  int refused_ = 0;
};

TEST_CASE("Every scenario is decided over the socket as it is in process") {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TEPHRA_SCENARIOS)) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path());
    auto simulation = LoadSimulation(entry.path().string(), {"why", "expect"});
    REQUIRE(simulation.ok());
    auto arrivals = TakeArrivals(*simulation);
    REQUIRE(arrivals.ok());
    Pair pair;
    World world(*std::move(simulation), *std::move(arrivals), pair.here().state());
    while (const auto batch = world.Next()) world.Execute(pair.Cycle(batch->events, batch->time));
  }
}

TEST_CASE("Every random history is decided over the socket as it is in process") {
  ForEachSeed(40, [](std::uint64_t seed) {
    Dice dice(seed + 3000000);
    RandomHistory history(seed, {.queue_limits = true}, {});
    Mirror mirror;
    EngineConfig config;
    config.assume_timeout_ms = 20 * kSecondMs;
    if (dice.Percent(30)) config.ties = Ties::kRandom;
    Pair pair;
    std::vector<Event> events = {ConfigChanged{config}};
    const auto tell = [&](const Event& event) {
      mirror.Apply(event);
      events.push_back(event);
    };
    for (const Event& event : history.Opening()) tell(event);
    TimeMs now = 0;
    for (int i = 0; i < 100; ++i) {
      INFO("event " << i);
      tell(history.Next(mirror));
      if (dice.Percent(40)) continue;
      now += dice.Below(8) * kSecondMs;
      mirror.Expire(now, config.assume_timeout_ms);
      const Plan plan = pair.Cycle(events, now);
      events.clear();
      REQUIRE(mirror.Follow(NameOf(pair.here().state(), plan), now, Mirror::Judge::kSoundness) ==
              "");
    }
  });
}

}  // namespace
}  // namespace tephra
