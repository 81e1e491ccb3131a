// Backfilling within the limit of a queue, against a plain planner that counts GPUs.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "plugins/registry.h"
#include "simulations/workload/simulation_file.h"
#include "simulations/world.h"
#include "tests/property/laws.h"
#include "tests/support/dice.h"

namespace tephra {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct Gang {
  std::string name;
  std::int64_t arrival, gpus, run, removed;  // seconds
  int priority;
  std::int64_t start = -1;

  std::int64_t EndsBy() const { return start + run; }
  bool RunsAt(std::int64_t t) const { return start >= 0 && start <= t && t < std::min(EndsBy(), removed); }
  bool WaitsAt(std::int64_t t) const { return start < 0 && arrival <= t && t < removed; }
};

// EASY: the first gang that does not fit is not delayed.
void StartAt(std::int64_t t, std::int64_t limit, std::vector<Gang>& gangs) {
  std::vector<Gang*> waiting;
  std::int64_t used = 0;
  for (Gang& gang : gangs) {
    if (gang.RunsAt(t)) used += gang.gpus;
    if (gang.WaitsAt(t)) waiting.push_back(&gang);
  }
  std::sort(waiting.begin(), waiting.end(), [](const Gang* a, const Gang* b) {
    return std::pair(-a->priority, a->arrival) < std::pair(-b->priority, b->arrival);
  });
  const Gang* first = nullptr;
  for (Gang* gang : waiting) {
    if (used + gang->gpus > limit) {
      if (first == nullptr && gang->gpus <= limit) first = gang;
      continue;
    }
    if (first != nullptr) {
      // When the first one fits, by ends alone, and what is then left beside it.
      std::vector<std::pair<std::int64_t, std::int64_t>> ends;
      for (const Gang& one : gangs) {
        if (one.RunsAt(t)) ends.emplace_back(one.EndsBy(), one.gpus);
      }
      std::sort(ends.begin(), ends.end());
      std::int64_t left = used, at = kNever;
      for (const auto& [end, gpus] : ends) {
        left -= gpus;
        if (at == kNever && left + first->gpus <= limit) at = end;
        if (at == end) continue;  // all that end then
        if (at != kNever) {
          left += gpus;
          break;
        }
      }
      const bool delays = at != kNever && t + gang->run > at && left + first->gpus + gang->gpus > limit;
      if (delays) continue;
    }
    gang->start = t;
    used += gang->gpus;
  }
}

void Plan(std::int64_t limit, std::vector<Gang>& gangs) {
  std::int64_t t = -1;
  while (true) {
    std::int64_t next = kNever;
    const auto consider = [&](std::int64_t at) {
      if (at > t) next = std::min(next, at);
    };
    for (const Gang& gang : gangs) {
      consider(gang.arrival);
      consider(gang.removed);
      if (gang.start >= 0) consider(gang.EndsBy());
    }
    if (next == kNever) return;
    t = next;
    StartAt(t, limit, gangs);
  }
}

std::string Seconds(std::int64_t seconds) { return std::to_string(seconds) + "s"; }

TEST_CASE("Within the limit of a queue jobs start as a planner of counts starts them") {
  int waited = 0, delayed = 0;
  ForEachSeed(200, [&](std::uint64_t seed) {
    Dice dice(seed + 43000000);
    const int queues = dice.From(1, 3);
    std::string text = "cluster: { nodes: 12, gpus_per_node: 8 }\nqueues:\n";
    std::string jobs = "jobs:\n", events;
    std::vector<std::vector<Gang>> of(static_cast<std::size_t>(queues));
    std::vector<std::int64_t> limits;
    for (int q = 0; q < queues; ++q) {
      limits.push_back(dice.From(2, 16));
      const std::string name = "q" + std::to_string(q);
      text += "  - { name: " + name + ", limit: { gpu: " + std::to_string(limits.back()) + " } }\n";
      std::int64_t at = 0;
      for (int j = dice.From(3, 20); j > 0; --j) {
        at += dice.From(1, 40);
        Gang gang{name + "-" + std::to_string(j), at, dice.From(1, dice.Percent(30) ? 18 : 5), dice.From(1, 200),
                  dice.Percent(10) ? at + dice.From(1, 100) : kNever, dice.Percent(15) ? 1 : 0};
        jobs += "  - { name: " + gang.name + ", queue: " + name + ", members: " + std::to_string(gang.gpus) +
                ", gpus: 1, at: " + Seconds(gang.arrival) + ", runtime: " + Seconds(gang.run) +
                ", priority: " + std::to_string(gang.priority) + " }\n";
        if (gang.removed != kNever) events += "  - { at: " + Seconds(gang.removed) + ", remove_job: " + gang.name + " }\n";
        of[static_cast<std::size_t>(q)].push_back(gang);
      }
      Plan(limits.back(), of[static_cast<std::size_t>(q)]);
    }
    text += jobs + (events.empty() ? "" : "events:\n" + events);
    text += "policies: { disabled_actions: [preempt, reclaim] }\n";
    INFO(text);
    auto read = ParseSimulation("law.yaml", text);
    INFO(read.status().message());
    REQUIRE(read.ok());
    auto arrivals = TakeArrivals(*read);
    REQUIRE(arrivals.ok());
    Engine engine(DefaultAssembly());
    World world(std::move(*read), std::move(*arrivals), engine.state(), nullptr);
    std::map<std::string, std::int64_t> starts;
    std::set<std::string> held;
    while (auto batch = world.Next()) {
      for (const Event& event : batch->events) REQUIRE(engine.Apply(event).ok());
      world.Execute(engine.Tick(batch->time));
      for (const JobRecord* job : world.Jobs()) {
        starts[job->name] = job->start < 0 ? -1 : job->start / kSecondMs;
        if (job->reason->obstacle == Obstacle::kLimitReserved) held.insert(job->name);
      }
    }
    REQUIRE(world.status().ok());
    delayed += static_cast<int>(held.size());
    for (const std::vector<Gang>& gangs : of) {
      for (const Gang& gang : gangs) {
        INFO(gang.name);
        if (starts.contains(gang.name)) CHECK(starts[gang.name] == gang.start);
        waited += gang.start > gang.arrival;
      }
    }
  });
  if (AllSeeds()) CHECK(waited > 500);
  if (AllSeeds()) CHECK(delayed > 100);
}

}  // namespace
}  // namespace tephra
