// Laws of an engine's life: whatever a cluster says over time, the books are right, plans are
// sound, and what is only derived changes no decision.
#include "engine/engine.h"
#include "plugins/registry.h"
#include "tests/property/complaints.h"
#include "tests/property/laws.h"
#include "tests/support/build.h"
#include "tests/support/mirror.h"
#include "tests/support/random_history.h"

namespace tephra {
namespace {

constexpr int kEvents = 150;

NamedPlan TickNamed(Engine& engine, TimeMs now) {
  const Plan plan = engine.Tick(now);
  return NameOf(engine.state(), plan);
}

// Of dice of its own, so that a seed is the same history with and without a gate.
void MaybeGate(std::uint64_t seed, EngineConfig& config) {
  Dice dice(seed + 4000000);
  if (!dice.Percent(25)) return;
  config.enqueue_gate = EnqueueGate::kVolcano;
  config.overcommit_permille = 1000 + 200 * dice.Below(3);
}

// The same of backfilling.
void MaybeBackfill(std::uint64_t seed, EngineConfig& config) {
  Dice dice(seed + 5000000);
  config.reservations.mode = dice.Pick<ReservationSettings::Mode>(
      {ReservationSettings::Mode::kNone, ReservationSettings::Mode::kFirst, ReservationSettings::Mode::kAll});
  config.reservations.count = dice.From(1, 3);
  config.reservations.per_queue = dice.Percent(30);
  if (dice.Percent(40)) config.reservations.order = ReservationSettings::Order::kShortestFirst;
}

EngineConfig ShortPatience() {
  EngineConfig config;
  config.assume_timeout_ms = 20 * kSecondMs;
  config.stuck_pod_timeout_ms = 2 * kSecondMs;
  return config;
}

// One history on one engine; `each` sees every plan.
template <class Each>
void Live(Engine& engine, std::uint64_t seed, const CaseSize& size, RandomHistory::Kinds kinds,
          Mirror::Judge judge, Each each) {
  Dice dice(seed + 1000000);
  Complaints complaints(engine);
  RandomHistory history(seed, size, kinds);
  Mirror mirror;
  EngineConfig config = ShortPatience();
  // Evictions and refusals because of a reservation have laws of their own
  // (eviction_property_test, backfill_property_test).
  if (judge == Mirror::Judge::kExactness) {
    config.disabled_actions = {"reclaim", "preempt"};
    config.reservations.mode = ReservationSettings::Mode::kNone;
  }
  if (judge == Mirror::Judge::kSoundness) {
    MaybeGate(seed, config);
    MaybeBackfill(seed, config);
  }
  REQUIRE(engine.Apply(ConfigChanged{config}).ok());
  mirror.Apply(ConfigChanged{config});
  for (const Event& event : history.Opening()) {
    REQUIRE(engine.Apply(event).ok());
    mirror.Apply(event);
  }
  TimeMs now = 0;
  for (int i = 0; i < kEvents; ++i) {
    INFO("event " << i);
    const Event event = history.Next(mirror);
    const absl::Status status = engine.Apply(event);
    INFO(status.ToString());
    REQUIRE(status.ok());
    mirror.Apply(event);
    REQUIRE(engine.state().CheckBooks() == "");
    if (dice.Percent(40)) continue;
    now += dice.Below(8) * kSecondMs;
    mirror.Expire(now, ShortPatience().assume_timeout_ms);
    const NamedPlan plan = TickNamed(engine, now);
    INFO("the plan:\n" << Text(engine.state().books().kinds, plan) << complaints.all);
    REQUIRE(mirror.Follow(plan, now, judge) == "");
    REQUIRE(engine.state().CheckBooks() == "");
    const Books& books = engine.state().books();
    REQUIRE(mirror.Now().Differs(books.hardware, books.occupancy) == "");
    each(event, plan, now, mirror);
  }
  engine.Observe(nullptr);
}

TEST_CASE("Nothing is over-committed and no gang starts below its minimum, whatever happens") {
  ForEachSeed(400, [](std::uint64_t seed) {
    Engine engine(DefaultAssembly());
    CaseSize size{.queue_limits = true};
    Live(engine, seed, size, {}, Mirror::Judge::kSoundness,
         [](const auto&, const auto&, TimeMs, Mirror&) {});
  });
}

TEST_CASE("Gangs with groups: nothing is over-committed and no group runs in part") {
  ForEachSeed(400, [](std::uint64_t seed) {
    Engine engine(DefaultAssembly());
    CaseSize size{.queue_limits = true, .groups = true};
    Live(engine, seed + 20000000, size, {}, Mirror::Judge::kSoundness,
         [](const auto&, const auto&, TimeMs, Mirror&) {});
  });
}

TEST_CASE("After any history each gang starts exactly if some placement of it exists") {
  ForEachSeed(300, [](std::uint64_t seed) {
    Engine engine(DefaultAssembly());
    CaseSize size{.nodes = 4, .devices = 3, .jobs = 5, .tasks = 4};
    Live(engine, seed, size, {.refusals = false}, Mirror::Judge::kExactness,
         [](const auto&, const auto&, TimeMs, Mirror&) {});
  });
}

NamedPlan WithoutNos(NamedPlan plan) {
  std::erase_if(plan.decisions, [](const NamedDecision& one) {
    return one.placements.empty() && one.evictions.empty() && one.moves.empty();
  });
  return plan;
}

// The same history on an engine that asks only jobs that a change may help, and on an engine that
// asks every job, because migrations might help any. There are no evictions (the room of victims would
// be reserved for any job that is asked), and all jobs are of one queue, because the turn of a queue
// depends on the jobs that are asked. Returns the number of decisions.
std::int64_t LiveTwice(std::uint64_t seed) {
  Dice dice(seed + 6000000);
  EngineConfig config = ShortPatience();
  config.disabled_actions = {"reclaim", "preempt", "consolidate"};
  const bool fifo = dice.Percent(50);
  config.report_job_ahead = dice.Percent(30);
  Engine thrifty(DefaultAssembly()), thorough(DefaultAssembly());
  for (Engine* engine : {&thrifty, &thorough}) {
    REQUIRE(engine->Apply(ConfigChanged{config}).ok());
  }
  const JobSpec found = AJob("movable").Role("r", 1, APod()).In("nowhere").Movable();
  REQUIRE(thorough.Apply(JobUpserted{found, 1}).ok());
  CaseSize size{.queue_limits = dice.Percent(50), .groups = dice.Percent(30)};
  RandomHistory history(seed, size, {});
  Mirror mirror;
  mirror.Apply(ConfigChanged{config});
  std::int64_t decided = 0;
  const auto tell = [&](Event event) {
    auto* queue = std::get_if<QueueUpserted>(&event);
    if (queue != nullptr && fifo) queue->queue.dequeue = Dequeue::kFifo;
    auto* job = std::get_if<JobUpserted>(&event);
    if (job != nullptr) {
      job->job.queue = "q0";
      job->job.priority = 0;  // an incomplete gang goes first unless a job that is asked has a higher one
    }
    REQUIRE(thrifty.Apply(event).ok());
    REQUIRE(thorough.Apply(event).ok());
    mirror.Apply(event);
  };
  for (const Event& event : history.Opening()) tell(event);
  TimeMs now = 0;
  for (int i = 0; i < kEvents; ++i) {
    INFO("event " << i);
    tell(history.Next(mirror));
    if (dice.Percent(40)) continue;
    now += dice.Below(8) * kSecondMs;
    mirror.Expire(now, ShortPatience().assume_timeout_ms);
    const NamedPlan plan = TickNamed(thrifty, now);
    const NamedPlan all = TickNamed(thorough, now);
    INFO("the plan:\n"
         << Text(thrifty.state().books().kinds, plan) << "\nthe other:\n"
         << Text(thorough.state().books().kinds, all));
    REQUIRE(WithoutNos(plan) == WithoutNos(all));
    REQUIRE(mirror.Follow(plan, now, Mirror::Judge::kSoundness) == "");
    decided += static_cast<std::int64_t>(WithoutNos(plan).decisions.size());
  }
  return decided;
}

TEST_CASE("A job that is not asked because no change may help it would not start") {
  std::int64_t decided = 0;
  ForEachSeed(600, {1319, 5002}, [&](std::uint64_t seed) { decided += LiveTwice(seed); });
  REQUIRE(decided > 0);
}

TEST_CASE("A tick with nothing changed gives an empty plan") {
  ForEachSeed(60, [](std::uint64_t seed) {
    Engine engine(DefaultAssembly());
    CaseSize size{.queue_limits = true};
    Live(engine, seed, size, {}, Mirror::Judge::kSoundness,
         [&](const Event&, const NamedPlan&, TimeMs now, Mirror& mirror) {
           // Other jobs may ask for room that was reserved in vain in the next cycle.
           NamedPlan again;
           for (int i = 0; i < 3 && (i == 0 || !again.decisions.empty()); ++i) {
             again = TickNamed(engine, now);
             REQUIRE(mirror.Follow(again, now, Mirror::Judge::kSoundness) == "");
           }
           REQUIRE(again.decisions.empty());
         });
  });
}

TEST_CASE("The same event twice is as good as once") {
  ForEachSeed(60, [](std::uint64_t seed) {
    Engine engine(DefaultAssembly());
    CaseSize size{.queue_limits = true};
    Live(engine, seed, size, {}, Mirror::Judge::kSoundness,
         [&](const Event& event, const NamedPlan&, TimeMs now, Mirror& mirror) {
           // An outcome of what the last cycle placed again, or a removal of what came back, is
           // news.
           if (std::holds_alternative<PlacementRefused>(event)) return;
           if (std::holds_alternative<PlanStale>(event)) return;
           if (std::holds_alternative<BindFailed>(event)) return;
           if (std::holds_alternative<TaskRemoved>(event)) return;
           for (int i = 0; i < 3; ++i) {  // other jobs may take room that was reserved in vain
             REQUIRE(mirror.Follow(TickNamed(engine, now), now, Mirror::Judge::kSoundness) == "");
           }
           REQUIRE(engine.Apply(event).ok());
           const NamedPlan again = TickNamed(engine, now);
           for (const NamedDecision& decision : again.decisions) {
             REQUIRE(decision.verdict != Verdict::kStart);
           }
           REQUIRE(mirror.Follow(again, now, Mirror::Judge::kSoundness) == "");
           REQUIRE(engine.state().CheckBooks() == "");
         });
  });
}

// Two engines hear the same; `meddle` may do to the second what must not matter.
template <class Meddle>
void SamePlans(std::uint64_t seed, Meddle meddle) {
  Dice dice(seed + 2000000);
  RandomHistory history(seed, {.queue_limits = true, .groups = seed % 4 == 0}, {});
  Mirror mirror;
  Engine first(DefaultAssembly()), second(DefaultAssembly());
  Complaints complaints(first);
  const auto tell = [&](const Event& event) {
    REQUIRE(first.Apply(event).ok());
    REQUIRE(second.Apply(event).ok());
    mirror.Apply(event);
  };
  EngineConfig config = ShortPatience();
  if (dice.Percent(30)) config.ties = Ties::kRandom;
  MaybeGate(seed, config);
  MaybeBackfill(seed, config);
  tell(ConfigChanged{config});
  for (const Event& event : history.Opening()) tell(event);
  TimeMs now = 0;
  for (int i = 0; i < kEvents; ++i) {
    tell(history.Next(mirror));
    if (dice.Percent(30)) continue;
    now += dice.Below(8) * kSecondMs;
    mirror.Expire(now, config.assume_timeout_ms);
    meddle(second, now);
    const NamedPlan a = TickNamed(first, now), b = TickNamed(second, now);
    INFO("event " << i);
    INFO("one plan:\n" << Text(first.state().books().kinds, a) << complaints.all);
    INFO("the other:\n" << Text(second.state().books().kinds, b));
    REQUIRE(a == b);
    REQUIRE(mirror.Follow(a, now, Mirror::Judge::kSoundness) == "");
    const Books& books = first.state().books();
    REQUIRE(mirror.Now().Differs(books.hardware, books.occupancy) == "");
  }
}

TEST_CASE("An engine that forgets all that is derived before every tick decides the same") {
  ForEachSeed(300, [](std::uint64_t seed) {
    SamePlans(seed, [](Engine& engine, TimeMs) { engine.DropDerived(); });
  });
}

TEST_CASE("Two engines that hear the same decide the same") {
  ForEachSeed(30, [](std::uint64_t seed) { SamePlans(seed, [](Engine&, TimeMs) {}); });
}

TEST_CASE("A refused placement is not repeated on equal facts") {
  ForEachSeed(300, [](std::uint64_t seed) {
    Dice dice(seed);
    Engine engine(DefaultAssembly());
    for (const Event& event : RandomCase(dice, {})) REQUIRE(engine.Apply(event).ok());
    std::set<std::string> refused;
    // Each cycle one placement of the plan is refused: with 6 nodes, 8 jobs of at most 3 roles
    // this ends within 6 x 24 cycles.
    for (int cycle = 0; cycle < 6 * 24 + 1; ++cycle) {
      const NamedPlan plan = TickNamed(engine, cycle);
      std::vector<PlacementRefused> candidates;
      for (const NamedDecision& decision : plan.decisions) {
        for (const NamedPlacement& placed : decision.placements) {
          const std::string what = decision.job + "/" + placed.role + " on " + placed.node;
          INFO(what);
          REQUIRE(!refused.contains(what));
          candidates.push_back({decision.job, placed.role, placed.node, "no"});
        }
      }
      if (candidates.empty()) return;
      const PlacementRefused no = dice.Pick(candidates);
      refused.insert(no.job + "/" + no.role + " on " + no.node);
      REQUIRE(engine.Apply(no).ok());
      REQUIRE(engine.state().CheckBooks() == "");
    }
    FAIL("the engine and the refusals never came to rest");
  });
}

TEST_CASE("An assumption that no fact confirms expires whole, and the gang is placed again") {
  ForEachSeed(200, [](std::uint64_t seed) {
    Dice dice(seed);
    Engine engine(DefaultAssembly());
    EngineConfig config = ShortPatience();
    // A job that ends late delays a reservation, and another job may go ahead of it.
    config.reservations.mode = ReservationSettings::Mode::kNone;
    REQUIRE(engine.Apply(ConfigChanged{config}).ok());
    for (const Event& event : RandomCase(dice, {})) REQUIRE(engine.Apply(event).ok());
    const auto started = [](const NamedPlan& plan) {
      std::set<std::string> jobs;
      for (const NamedDecision& decision : plan.decisions) {
        if (decision.verdict == Verdict::kStart) jobs.insert(decision.job);
      }
      return jobs;
    };
    const NamedPlan plan = TickNamed(engine, 0);
    // Other jobs cannot use room that is reserved meanwhile.
    const auto reserves = [](const NamedDecision& decision) {
      return decision.verdict == Verdict::kStartAfterEviction;
    };
    if (std::any_of(plan.decisions.begin(), plan.decisions.end(), reserves)) return;
    const auto first = started(plan);
    REQUIRE(started(TickNamed(engine, 20 * kSecondMs - 1)).empty());
    REQUIRE(started(TickNamed(engine, 20 * kSecondMs)) == first);
    REQUIRE(engine.state().CheckBooks() == "");
  });
}

}  // namespace
}  // namespace tephra
