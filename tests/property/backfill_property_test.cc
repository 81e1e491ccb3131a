// The laws of reservations, with exact estimates, on clusters of at most four nodes. Conservative: no
// job starts later than its first reservation, and if counts are enough, each reservation equals that
// of an exact planner by counts. EASY: the first pending job has a reservation at the earliest time at
// which it fits, starts by then, and no task waits that would not delay it. In a second run without a
// job that went ahead, the first job starts no earlier.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/property/laws.h"
#include "tests/support/dice.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

struct Item {
  std::string name;
  TimeMs at = 0;
  int tasks = 1, gpus = 1;  // of each task
  DurationMs run = 0;
  TimeMs start = -1;
  TimeMs reserved = 0;  // at first

  TimeMs end() const { return start + run; }
};

struct Case {
  std::vector<int> nodes;  // GPUs
  std::vector<Item> items;
};

Case RandomItems(Dice& dice, bool whole_nodes) {
  Case one;
  const int gpus = dice.From(1, 4);
  const int nodes = dice.From(1, 4);
  for (int n = 0; n < nodes; ++n) one.nodes.push_back(whole_nodes ? gpus : dice.From(1, 4));
  TimeMs at = 0;
  const int most = *std::max_element(one.nodes.begin(), one.nodes.end());
  for (int i = dice.From(3, 14); i > 0; --i) {
    Item item;
    item.name = "j" + std::to_string(one.items.size() + 10);
    at += dice.Percent(40) ? 0 : dice.From(1, 9) * kSecondMs;
    item.at = at;
    item.gpus = whole_nodes ? gpus : dice.From(1, most);
    int room = 0;
    for (const int free : one.nodes) room += free / item.gpus;
    item.tasks = dice.From(1, std::max(1, room));
    item.run = dice.From(1, 20) * kSecondMs;
    one.items.push_back(item);
  }
  return one;
}

// Lives through the case; `check(cluster, items, now)` after each cycle, in which it also sees what
// was started by it.
template <class Check>
void Live(Case& one, const EngineConfig& config, Check check) {
  SmallCluster cluster(config);
  for (std::size_t n = 0; n < one.nodes.size(); ++n) {
    cluster.Add(ANode("n" + std::to_string(n)).Gpus(one.nodes[n]));
  }
  std::size_t come = 0, gone = 0;
  while (gone < one.items.size()) {
    TimeMs now = come < one.items.size() ? one.items[come].at : TimeMs{1} << 40;
    for (std::size_t i = 0; i < come; ++i) {
      const Item& item = one.items[i];
      if (item.start >= 0 && item.run > 0) now = std::min(now, item.end());
    }
    REQUIRE(now < TimeMs{1} << 40);
    for (std::size_t i = 0; i < come; ++i) {
      Item& item = one.items[i];
      if (item.start < 0 || item.run == 0 || item.end() != now) continue;
      for (int t = 0; t < item.tasks; ++t) {
        cluster.Task(item.name, "w", t, TaskPhase::kSucceeded);
      }
      cluster.Tell(JobRemoved{item.name});
      item.run = 0;  // over
      ++gone;
    }
    for (; come < one.items.size() && one.items[come].at == now; ++come) {
      const Item& item = one.items[come];
      cluster.Add(AJob(item.name)
                      .Role("w", item.tasks, APod().Gpus(item.gpus), item.tasks)
                      .Created(item.at)
                      .Runs(item.run));
    }
    cluster.Tick(now);
    CHECK(cluster.plan().dropped.empty());
    CHECK(cluster.engine().state().CheckBooks() == "");
    for (std::size_t i = 0; i < come; ++i) {
      Item& item = one.items[i];
      if (item.run > 0 && item.start < 0 && cluster.job(item.name).satisfied()) item.start = now;
    }
    check(cluster, std::vector<Item>(one.items.begin(), one.items.begin() + come), now);
    cluster.Confirm();
  }
}

EngineConfig With(ReservationSettings::Mode mode) {
  EngineConfig config;
  config.reservations.mode = mode;
  // The score `stranding` depends on the jobs that wait, so one job less would change where other jobs run.
  config.node_scores = {{"binpack", 1}};
  config.full_verify_every = 1;
  return config;
}

bool Waits(const Item& item) { return item.run > 0 && item.start < 0; }
bool Runs(const Item& item) { return item.run > 0 && item.start >= 0; }

// GPUs free on each node once all that runs until then has ended.
std::vector<int> FreeAt(const SmallCluster& cluster, const Case& one,
                        const std::vector<Item>& items, TimeMs time) {
  std::vector<int> free = one.nodes;
  for (const Item& item : items) {
    if (!Runs(item) || item.end() <= time) continue;
    for (const TaskId id : cluster.job(item.name).roles[0].tasks) {
      const NodeId node = cluster.books().tasks[id.index()].node;
      free[static_cast<std::size_t>(cluster.books().hardware.spec(node).name[1] - '0')] -=
          item.gpus;
    }
  }
  return free;
}

int Room(const std::vector<int>& free, int gpus) {
  int room = 0;
  for (const int here : free) room += std::max(0, here) / gpus;
  return room;
}

TimeMs ReservedStart(const SmallCluster& cluster, const Item& item) {
  return cluster.job(item.name).reservation->at;
}

// The start of each pending job, one after the other, by counts of nodes alone.
std::map<std::string, TimeMs> ExactPlan(int nodes, const std::vector<Item>& items, TimeMs now) {
  struct Use {
    TimeMs from, until;
    int tasks;
  };
  std::vector<Use> uses;
  for (const Item& item : items) {
    if (Runs(item)) uses.push_back({0, item.end(), item.tasks});
  }
  std::map<std::string, TimeMs> starts;
  for (const Item& item : items) {
    if (!Waits(item)) continue;
    std::vector<TimeMs> times = {now};
    for (const Use& use : uses) times.push_back(std::max(now, use.until));
    std::sort(times.begin(), times.end());
    const auto used = [&](TimeMs time) {
      int sum = 0;
      for (const Use& use : uses) sum += use.from <= time && time < use.until ? use.tasks : 0;
      return sum;
    };
    const auto fits = [&](TimeMs from) {
      if (used(from) + item.tasks > nodes) return false;
      return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
        const bool during = use.from > from && use.from < from + item.run;
        return !during || used(use.from) + item.tasks <= nodes;
      });
    };
    const TimeMs start = *std::find_if(times.begin(), times.end(), fits);
    starts[item.name] = start;
    uses.push_back({start, start + item.run, item.tasks});
  }
  return starts;
}

TEST_CASE("Property: by counts alone each reservation is that of an exact planner") {
  ForEachSeed(150, [](std::uint64_t seed) {
    Dice dice(seed);
    Case one = RandomItems(dice, true);
    Live(one, With(ReservationSettings::Mode::kAll),
         [&](const SmallCluster& cluster, const std::vector<Item>& items, TimeMs now) {
           const auto exact = ExactPlan(static_cast<int>(one.nodes.size()), items, now);
           for (const Item& item : items) {
             if (!Waits(item)) continue;
             INFO(item.name << " at " << now);
             CHECK(ReservedStart(cluster, item) == exact.at(item.name));
           }
         });
  });
}

TEST_CASE("Property: conservative, no job starts later than its first reservation") {
  for (const bool whole_nodes : {true, false}) {
    ForEachSeed(150, {474, 484, 623, 1541}, [&](std::uint64_t seed) {
      Dice dice(seed);
      Case one = RandomItems(dice, whole_nodes);
      std::map<std::string, TimeMs> first;
      Live(one, With(ReservationSettings::Mode::kAll),
           [&](const SmallCluster& cluster, const std::vector<Item>& items, TimeMs now) {
             for (const Item& item : items) {
               INFO(item.name << " at " << now);
               if (Waits(item)) {
                 REQUIRE(ReservedStart(cluster, item) > now);
                 first.try_emplace(item.name, ReservedStart(cluster, item));
                 CHECK(ReservedStart(cluster, item) <= first.at(item.name));
               } else if (Runs(item) && first.contains(item.name)) {
                 CHECK(item.start <= first.at(item.name));
               }
             }
           });
    });
  }
}

// Whether some way to lay the tasks on what is free now leaves room for the head at its time.
bool LeavesRoom(const std::vector<int>& now, std::vector<int> then, const Item& item,
                const Item& head, std::size_t node, int left) {
  if (left == 0) return Room(then, head.gpus) >= head.tasks;
  if (node == now.size()) return false;
  for (int here = 0; here <= left && here * item.gpus <= now[node]; ++here) {
    if (LeavesRoom(now, then, item, head, node + 1, left - here)) return true;
    then[node] -= item.gpus;
  }
  return false;
}

TEST_CASE("Property: EASY, the first job has the earliest reservation, and nodes idle only for it") {
  ForEachSeed(300, [](std::uint64_t seed) {
    Dice dice(seed);
    Case one = RandomItems(dice, false);
    std::map<std::string, TimeMs> first;
    Live(one, With(ReservationSettings::Mode::kFirst),
         [&](const SmallCluster& cluster, const std::vector<Item>& items, TimeMs now) {
           const auto head = std::find_if(items.begin(), items.end(), Waits);
           for (const Item& item : items) {
             if (Runs(item) && first.contains(item.name)) {
               INFO(item.name);
               CHECK(item.start <= first.at(item.name));
             }
           }
           if (head == items.end()) return;
           const TimeMs reserved = ReservedStart(cluster, *head);
           first.try_emplace(head->name, reserved);
           INFO("head " << head->name << " at " << now << " reserved " << reserved);
           TimeMs earliest = 0;
           for (const Item& item : items) {
             if (!Runs(item) ||
                 Room(FreeAt(cluster, one, items, item.end()), head->gpus) < head->tasks) {
               continue;
             }
             earliest = earliest == 0 ? item.end() : std::min(earliest, item.end());
           }
           CHECK(reserved == earliest);
           const std::vector<int> free = FreeAt(cluster, one, items, now);
           const std::vector<int> then = FreeAt(cluster, one, items, reserved);
           for (const Item& item : items) {
             if (!Waits(item) || item.name == head->name) continue;
             INFO(item.name << " waits");
             CHECK((ReservedStart(cluster, item) == 0));
             const bool fits = Room(free, item.gpus) >= item.tasks;
             if (now + item.run <= reserved) {
               CHECK_FALSE(fits);
             } else if (item.tasks == 1) {
               CHECK_FALSE(LeavesRoom(free, then, item, *head, 0, 1));
             }
           }
         });
  });
}

TimeMs StartOf(const Case& one, const std::string& name) {
  return std::find_if(one.items.begin(), one.items.end(),
                      [&](const Item& item) { return item.name == name; })
      ->start;
}

TEST_CASE("Property: an overtaken job starts no later than if the other jobs had never come") {
  int overtaken = 0;
  for (const ReservationSettings::Mode mode : {ReservationSettings::Mode::kFirst, ReservationSettings::Mode::kAll}) {
    ForEachSeed(150, [&](std::uint64_t seed) {
      Dice dice(seed);
      const Case said = RandomItems(dice, mode == ReservationSettings::Mode::kAll);
      std::map<std::string, std::string> ahead;  // overtaken job -> the first pending job then
      Case with = said;
      Live(with, With(mode), [&](const SmallCluster&, const std::vector<Item>& items, TimeMs now) {
        const auto head = std::find_if(items.begin(), items.end(), Waits);
        for (auto it = head; it != items.end(); ++it) {
          if (Runs(*it) && it->start == now) ahead.emplace(it->name, head->name);
        }
      });
      for (const auto& [name, head] : ahead) {
        INFO(name << " went ahead of " << head);
        Case without = said;
        std::erase_if(without.items,
                      [&, &gone = name](const Item& item) { return item.name == gone; });
        Live(without, With(mode), [](const auto&...) {});
        CHECK(StartOf(with, head) <= StartOf(without, head));
        ++overtaken;
      }
    });
  }
  REQUIRE(overtaken > 0);
}

}  // namespace
}  // namespace tephra
