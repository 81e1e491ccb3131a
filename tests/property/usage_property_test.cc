// Laws of past usage: it is settled only when something changes, and is what it would be if every
// step had been counted; and an engine that receives it decides as the engine that kept running.
#include <cmath>
#include <map>

#include "engine/engine.h"
#include "engine/usage.h"
#include "plugins/registry.h"
#include "tests/property/laws.h"
#include "tests/support/mirror.h"
#include "tests/support/random_history.h"

namespace tephra {
namespace {

TEST_CASE("Decay: what is kept and what is lost are powers of two to the last digits") {
  for (int i = 0; i < 4000; ++i) {
    const double x = std::exp2(-40 + i / 80.0);
    INFO("half-lives " << x);
    const Decay decay(x);
    REQUIRE(decay.kept == Approx(std::exp2(-x)).epsilon(4e-15).margin(1e-300));
    REQUIRE(decay.lost == Approx(-std::expm1(-x * std::log(2.0))).epsilon(4e-15));
  }
  CHECK(Decay(0).kept == 1);
  CHECK(Decay(0).lost == 0);
  CHECK(Decay(3).kept == 0.125);
  CHECK(Decay(1e9).kept == 0);
}

using Holder = std::pair<std::string, std::string>;  // queue and user; the queue's own: "*"

// What all tasks hold now.
std::map<Holder, Resources> Holdings(const Books& books) {
  std::map<Holder, Resources> holdings;
  for (std::size_t q = 0; q < books.usage.rows().size(); ++q) {
    const std::string& queue = books.queues.spec(QueueId(q)).name;
    holdings[{queue, "*"}] = books.occupancy.queue_own(QueueId(q));
    for (const auto& [user, account] : books.usage.rows()[q].users) {
      Resources held = account.holds;
      holdings[{queue, user}] = held.Add(account.coming);
    }
  }
  return holdings;
}

TEST_CASE("Usage that is settled where it changes is the sum of every step") {
  ForEachSeed(60, [](std::uint64_t seed) {
    Dice dice(seed + 3000000);
    RandomHistory history(seed, {.queue_limits = true}, {});
    Mirror mirror;
    Engine engine(DefaultAssembly());
    EngineConfig config;
    config.assume_timeout_ms = 20 * kSecondMs;
    config.usage_half_life_ms = dice.Pick<int>({1, 700, 30'000, 3'600'000});
    REQUIRE(engine.Apply(ConfigChanged{config}).ok());
    for (const Event& event : history.Opening()) {
      REQUIRE(engine.Apply(event).ok());
      mirror.Apply(event);
    }
    std::map<Holder, std::array<long double, kMaxKinds>> steps;
    std::map<Holder, Resources> held;
    const auto half_life = static_cast<long double>(config.usage_half_life_ms);
    const long double ln2 = std::log(2.0L);
    TimeMs now = 0;
    for (int i = 0; i < 150; ++i) {
      const Event event = history.Next(mirror);
      REQUIRE(engine.Apply(event).ok());
      mirror.Apply(event);
      if (dice.Percent(40)) continue;
      const TimeMs before = now;
      now += dice.Below(8) * dice.Pick<int>({1, 100, 1000});
      mirror.Expire(now, config.assume_timeout_ms);
      const Plan plan = engine.Tick(now);
      REQUIRE(mirror.Follow(NameOf(engine.state(), plan), now, Mirror::Judge::kSoundness) == "");
      const Books& books = engine.state().books();
      // Until this cycle every task held what it held after the last one.
      const long double x = static_cast<long double>(now - before) / half_life;
      for (auto& [holder, spent] : steps) {
        for (long double& amount : spent) amount *= std::exp2(-x);
      }
      for (const auto& [holder, amounts] : held) {
        auto& spent = steps[holder];
        for (int k = 0; k < kMaxKinds; ++k) {
          spent[k] +=
              static_cast<long double>(amounts.amount[k]) * half_life / ln2 * -std::expm1(-x * ln2);
        }
      }
      held = Holdings(books);
      for (const auto& [holder, spent] : steps) {
        const QueueId queue = books.queues.Find(holder.first);
        if (!queue.valid()) continue;
        const Spent kept =
            holder.second == "*" ? books.usage.Of(queue) : books.usage.Of(queue, holder.second);
        for (int k = 0; k < kMaxKinds; ++k) {
          INFO("event " << i << ", queue " << holder.first << ", user " << holder.second
                        << ", kind " << k);
          // Less than nothing (1000) may have been dropped.
          REQUIRE(kept[k] == Approx(static_cast<double>(spent[k])).epsilon(1e-9).margin(1000));
        }
      }
      REQUIRE(engine.state().CheckBooks() == "");
    }
  });
}

// A cluster of two queues on which jobs start and end, as facts for several engines.
class Life {
 public:
  explicit Life(std::uint64_t seed) : dice_(seed + 4000000) {
    EngineConfig config;
    config.usage_half_life_ms = 3600 * kSecondMs;
    facts_["0"] = ConfigChanged{config};
    for (const char* name : {"a", "b"}) {
      QueueSpec queue;
      queue.name = name;
      facts_[std::string("1") + name] = QueueUpserted{queue, 1};
    }
    NodeSpec node;
    node.name = "n";
    node.allocatable[kCpu] = 64000;
    node.allocatable[kPods] = 110;
    node.devices.assign(8, {"", "H100", 80000, true});
    facts_["2n"] = NodeUpserted{node, 1};
  }

  std::vector<Event> Everything() const {
    std::vector<Event> events;
    for (const auto& [key, event] : facts_) events.push_back(event);
    return events;
  }
  std::vector<Event> Change() {
    std::vector<Event> events;
    for (int i = dice_.Below(4); i > 0; --i) events.push_back(Submit());
    std::vector<std::string> running;
    for (const auto& [key, event] : facts_) {
      if (key[0] == '4') running.push_back(key.substr(1));
    }
    for (const std::string& job : running) {
      if (!dice_.Percent(30)) continue;
      facts_.erase("4" + job);
      facts_.erase("3" + job);
      events.push_back(TaskRemoved{"pod of " + job});
      events.push_back(JobRemoved{job});
    }
    return events;
  }
  // What was placed runs.
  std::vector<Event> Started(const NamedPlan& plan, TimeMs now) {
    std::vector<Event> events;
    for (const NamedDecision& decision : plan.decisions) {
      for (const NamedPlacement& placed : decision.placements) {
        TaskFact fact;
        fact.uid = "pod of " + decision.job;
        fact.job = decision.job;
        fact.role = placed.role;
        fact.index = placed.index;
        fact.phase = TaskPhase::kRunning;
        fact.node = placed.node;
        fact.slices = placed.slices;
        fact.started = now;
        events.push_back(facts_["4" + decision.job] = TaskUpserted{fact, 1});
      }
    }
    return events;
  }

 private:
  Event Submit() {
    JobSpec job;
    job.uid = job.name = "j" + std::to_string(1000 + jobs_++);
    job.queue = dice_.Percent(50) ? "a" : "b";
    job.user = dice_.Pick<const char*>({"", "ann", "bob"});
    job.preemptible = false;
    RoleSpec& role = job.gang.roles.emplace_back();
    role.name = "w";
    role.pod.containers.push_back({"c", ContainerKind::kApp, {}, {1 + dice_.Below(4)}});
    return facts_["3" + job.uid] = JobUpserted{job, 1};
  }

  Dice dice_;
  int jobs_ = 0;
  std::map<std::string, Event> facts_;  // by the order in which a sync has them
};

TEST_CASE("An engine with the memory and all facts decides as the engine that kept running") {
  int compared = 0;
  ForEachSeed(60, [&](std::uint64_t seed) {
    Life life(seed);
    auto engine = std::make_unique<Engine>(DefaultAssembly());
    for (const Event& event : life.Everything()) REQUIRE(engine->Apply(event).ok());
    Dice dice(seed);
    TimeMs now = 1'700'000'000'000;
    std::optional<Memory> kept;
    const auto live = [&](Engine& one, const std::vector<Event>& events) {
      for (const Event& event : events) REQUIRE(one.Apply(event).ok());
      const Plan plan = one.Tick(now);
      if (plan.memory.has_value()) kept = plan.memory;
      return NameOf(one.state(), plan);
    };
    for (int i = 0; i < 40; ++i) {
      now += dice.Below(600) * kSecondMs;
      const NamedPlan plan = live(*engine, life.Change());
      now += kSecondMs;
      live(*engine, life.Started(plan, now - kSecondMs));
    }
    REQUIRE(kept.has_value());
    const Memory fresh = engine->state().Remember();
    Engine second(DefaultAssembly());
    std::vector<Event> sync = life.Everything();
    sync.insert(sync.begin() + 3, MemoryRestored{fresh});
    sync.insert(sync.begin() + 4, MemoryRestored{*kept});  // an older one changes nothing
    for (const Event& event : sync) REQUIRE(second.Apply(event).ok());
    REQUIRE(second.state().CheckBooks() == "");
    // Time has passed, but no task ended since the memory was written: no fact would report it.
    now += 300 * kSecondMs;
    const NamedPlan passed = live(*engine, {});
    live(second, {});
    const std::vector<Event> late = life.Started(passed, now);
    live(*engine, late);
    live(second, late);
    for (int i = 0; i < 10; ++i) {
      now += dice.Below(600) * kSecondMs;
      const std::vector<Event> events = life.Change();
      const NamedPlan lived = live(*engine, events);
      const NamedPlan sent = live(second, events);
      // The engine that received it asks every job in its first cycle; the same jobs start.
      const auto started = [](const NamedPlan& plan) {
        std::map<std::string, std::vector<NamedPlacement>> jobs;
        for (const NamedDecision& decision : plan.decisions) {
          if (!decision.placements.empty()) jobs[decision.job] = decision.placements;
        }
        return jobs;
      };
      REQUIRE(started(lived) == started(sent));
      compared += static_cast<int>(started(lived).size());
      for (const char* name : {"a", "b"}) {
        const auto used = [&](const Engine& one) {
          const Books& books = one.state().books();
          return books.usage.Of(books.queues.Find(name))[kGpu];
        };
        REQUIRE(used(second) == Approx(used(*engine)).epsilon(1e-9));
      }
      now += kSecondMs;
      const std::vector<Event> ran = life.Started(lived, now - kSecondMs);
      live(*engine, ran);
      live(second, ran);
    }
  });
  if (kSlowdown == 1 && std::getenv("TEPHRA_PROPERTY_SEED") == nullptr) CHECK(compared > 100);
}

}  // namespace
}  // namespace tephra
