// The laws of consolidation, by brute force on instances of at most 4 nodes and 8 jobs: the migrated
// tasks are the fewest and cheapest; each of them runs again in its reservation, and so does the gang
// that they migrated for; nothing is over-committed meanwhile, whatever happens.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "plugins/registry.h"
#include "tests/property/complaints.h"
#include "tests/property/laws.h"
#include "tests/support/build.h"
#include "tests/support/dice.h"
#include "tests/support/mirror.h"
#include "tests/support/random_case.h"
#include "tests/support/random_history.h"

namespace tephra {
namespace {

constexpr std::int64_t kHorizonS = 24 * 3600;
constexpr std::int64_t kRestartS = 60;

EngineConfig Moving(MoveSettings::Mode mode) {
  EngineConfig config;
  config.node_scores = {{"spread", 1}};
  config.device_scores = {{"spread", 1}};
  config.disabled_actions = {"reclaim", "preempt"};
  config.assume_timeout_ms = 1000 * kSecondMs;
  config.moves.mode = mode;
  config.moves.moves_per_hour = 1000;
  config.moves.horizon_ms = kHorizonS * kSecondMs;
  config.moves.restart_cost_ms = kRestartS * kSecondMs;
  config.moves.return_timeout_ms = kHorizonS * kSecondMs;
  return config;
}

struct World {
  Engine engine{DefaultAssembly()};
  Complaints complaints{engine};
  Mirror mirror;
  std::uint64_t version = 0;
  std::map<std::string, TimeMs> started;  // by job

  void Tell(const Event& event) {
    const absl::Status status = engine.Apply(event);
    INFO(status.ToString());
    REQUIRE(status.ok());
    mirror.Apply(event);
    REQUIRE(engine.state().CheckBooks() == "");
  }
  NamedPlan Tick(TimeMs now) {
    const Plan plan = engine.Tick(now);
    return NameOf(engine.state(), plan);
  }
};

PodTemplate RandomPod(Dice& dice) {
  APod pod;
  pod.Cores(1);
  if (dice.Percent(60)) {
    pod.Gpus(1 + dice.Below(2));
  } else {
    pod.Share(250 * (1 + dice.Below(3)), 10000);
  }
  return pod;
}

JobSpec RandomJob(Dice& dice, const std::string& name) {
  AJob job(name);
  const int replicas = 1 + (dice.Percent(30) ? dice.Below(3) : 0);
  job.Role("w", replicas, RandomPod(dice), replicas);
  JobSpec spec = job;
  spec.gang.min_member = replicas;
  spec.created = dice.Below(1000);
  spec.movable = dice.Percent(75);
  spec.restarts_by_task = dice.Percent(50);
  return spec;
}

TaskFact Fact(const std::string& job, const std::string& role, int index) {
  TaskFact fact;
  fact.job = job;
  fact.role = role;
  fact.index = index;
  fact.uid = job + "/" + role + "/" + std::to_string(index);
  return fact;
}

void Confirm(Dice& dice, World& world, const NamedPlan& plan) {
  for (const NamedDecision& decision : plan.decisions) {
    if (decision.verdict != Verdict::kStart) continue;
    const TimeMs since = (1 + dice.Below(1000)) * kSecondMs;
    world.started.try_emplace(decision.job, since);
    for (const NamedPlacement& placed : decision.placements) {
      TaskFact fact = Fact(decision.job, placed.role, placed.index);
      fact.phase = TaskPhase::kRunning;
      fact.node = placed.node;
      fact.slices = placed.slices;
      fact.started = world.started.at(decision.job);
      world.Tell(TaskUpserted{fact, ++world.version});
    }
  }
}

// Jobs run in pieces: more came than are left.
void Fragment(Dice& dice, World& world, MoveSettings::Mode mode) {
  world.Tell(ConfigChanged{Moving(mode)});
  world.Tell(QueueUpserted{AQueue("default"), ++world.version});
  const int nodes = 2 + dice.Below(3);
  for (int n = 0; n < nodes; ++n) {
    const NodeSpec spec = ANode("n" + std::to_string(n)).Cores(16).Gpus(1 + dice.Below(3));
    world.Tell(NodeUpserted{spec, ++world.version});
  }
  const int jobs = 4 + dice.Below(8);
  for (int j = 0; j < jobs; ++j) {
    world.Tell(JobUpserted{RandomJob(dice, "old" + std::to_string(j)), ++world.version});
  }
  const NamedPlan first = world.Tick(1000 * kSecondMs);
  REQUIRE(world.mirror.Follow(first, 1000 * kSecondMs, Mirror::Judge::kSoundness) == "");
  Confirm(dice, world, first);
  std::vector<std::string> gone;
  int left = 0;
  for (const auto& [uid, job] : world.mirror.jobs()) {
    const bool runs = world.mirror.Satisfied(job);
    if (!runs || dice.Percent(45) || ++left > 7) gone.push_back(uid);
  }
  for (const std::string& uid : gone) {
    std::vector<std::string> pods;
    for (const auto& [name, role] : world.mirror.jobs().at(uid).roles) {
      for (const MirrorTask& task : role.tasks) {
        if (!task.uid.empty()) pods.push_back(task.uid);
      }
    }
    for (const std::string& pod : pods) world.Tell(TaskRemoved{pod});
    world.Tell(JobRemoved{uid});
  }
}

using Price = std::tuple<int, int, std::int64_t>;  // gangs, tasks, thousandths of GPU-seconds

// What migrations of a job cost: of all of its tasks, or of these alone while the others wait.
std::int64_t CostOf(const World& world, const MirrorJob& job, std::uint32_t tasks, TimeMs now) {
  std::int64_t cost = 0;
  std::uint32_t t = 0;
  for (const auto& [name, role] : job.roles) {
    const DeviceRequest& asks = role.pod.containers[0].devices;
    const std::int64_t gpu = std::max(asks.count * asks.compute, 100);
    const std::int64_t unsaved = (now - world.started.at(job.spec.uid)) / kSecondMs;
    for (std::size_t i = 0; i < role.tasks.size(); ++i, ++t) {
      cost += gpu * ((tasks >> t & 1u) != 0 ? unsaved + kRestartS : kRestartS);
    }
  }
  return cost;
}

int TasksOf(const MirrorJob& job) {
  int tasks = 0;
  for (const auto& [name, role] : job.roles) tasks += static_cast<int>(role.tasks.size());
  return tasks;
}

// The fewest migrations after which the gang fits, with all other tasks where they were. Tries each set of
// tasks, in which a gang is whole or absent, unless its tasks restart one by one.
class BestMoves {
 public:
  BestMoves(const World& world, const MirrorJob& gang, TimeMs now) : world_(world), now_(now) {
    for (const auto& [uid, job] : world.mirror.jobs()) {
      if (job.spec.movable && world.mirror.Satisfied(job)) movable_.push_back(&job);
    }
    world.mirror.Missing(gang, asks_);
  }

  std::optional<Price> Run() {
    Try(0, world_.mirror.Now(), asks_, {0, 0, 0});
    return best_;
  }

 private:
  void Try(std::size_t j, const Room& room, const GangWish& wish, Price price) {
    if (best_ && price >= *best_) return;
    if (j == movable_.size()) {
      if (std::get<1>(price) > 0 && room.AnyPlacement(wish)) best_ = price;
      return;
    }
    const MirrorJob& job = *movable_[j];
    const std::uint32_t all = (1u << TasksOf(job)) - 1;
    for (std::uint32_t set = 0; set <= all; ++set) {
      if (set != 0 && set != all && !job.spec.restarts_by_task) continue;
      Room freed = room;
      GangWish more = wish;
      Price sum = price;
      if (set != 0) Leave(job, set, freed, more, sum);
      Try(j + 1, freed, more, sum);
    }
  }

  void Leave(const MirrorJob& job, std::uint32_t set, Room& room, GangWish& wish, Price& price) const {
    std::uint32_t t = 0;
    for (const auto& [name, role] : job.roles) {
      int tasks = 0;
      for (const MirrorTask& task : role.tasks) {
        if ((set >> t++ & 1u) == 0) continue;
        room.Take(task.pod, task.node, task.slices, -1);
        ++tasks;
      }
      if (tasks > 0) wish.roles.push_back({role.pod, tasks, tasks});
      wish.least += tasks;
      std::get<1>(price) += tasks;
    }
    ++std::get<0>(price);
    std::get<2>(price) += CostOf(world_, job, set, now_);
  }

  const World& world_;
  const TimeMs now_;
  std::vector<const MirrorJob*> movable_;
  GangWish asks_;
  std::optional<Price> best_;
};

// Whether tasks of a gang wait for other tasks of it that migrate.
bool LeavesGangsInPart(const World& world, const NamedDecision& decision) {
  const std::set<std::string> gone(decision.evictions.begin(), decision.evictions.end());
  return std::any_of(world.mirror.jobs().begin(), world.mirror.jobs().end(), [&](const auto& one) {
    int leave = 0, all = 0;
    for (const auto& [name, role] : one.second.roles) {
      for (const MirrorTask& task : role.tasks) leave += gone.contains(task.uid), ++all;
    }
    return leave > 0 && leave < all;
  });
}

TEST_CASE("The fewest and cheapest tasks migrate, and none only if no migrations help") {
  int judged = 0, moved = 0, in_part = 0, impossible = 0, unproven = 0, dear = 0;
  ForEachSeed(1500, {26665}, [&](std::uint64_t seed) {
    Dice dice(seed + 7000000);
    World world;
    Fragment(dice, world, MoveSettings::Mode::kOn);
    JobSpec fresh = RandomJob(dice, "new");
    world.Tell(JobUpserted{fresh, ++world.version});
    const TimeMs now = 5000 * kSecondMs;
    const MirrorJob gang = world.mirror.jobs().at("new");
    const std::optional<Price> best = BestMoves(world, gang, now).Run();
    const NamedPlan plan = world.Tick(now);
    INFO("the plan:\n" << Text(world.engine.state().books().kinds, plan) << world.complaints.all);
    const NamedDecision* said = nullptr;
    for (const NamedDecision& one : plan.decisions) {
      if (one.job == "new") said = &one;
    }
    REQUIRE(said != nullptr);
    if (said->verdict == Verdict::kStart || said->verdict == Verdict::kInfeasible) return;
    REQUIRE(world.mirror.Follow(plan, now, Mirror::Judge::kSoundness) == "");
    ++judged;
    if (said->verdict == Verdict::kStartAfterEviction) {
      REQUIRE(best.has_value());
      if (!said->reason->fewest) return void(++unproven);
      const Price ours{static_cast<int>(said->reason->gangs_broken),
                       static_cast<int>(said->evictions.size()), said->reason->cost_gpu_s};
      const Price theirs{std::get<0>(*best), std::get<1>(*best), std::get<2>(*best) / 1000};
      INFO("ours " << std::get<0>(ours) << " " << std::get<1>(ours) << " " << std::get<2>(ours)
                   << ", best " << std::get<0>(theirs) << " " << std::get<1>(theirs) << " "
                   << std::get<2>(theirs));
      REQUIRE(ours == theirs);
      ++moved;
      in_part += LeavesGangsInPart(world, *said);
    } else if (said->reason->moving == Moving::kCost) {
      ++dear;
    } else if (best.has_value()) {
      INFO("the best: " << std::get<0>(*best) << " jobs, " << std::get<1>(*best) << " tasks");
      // Unless nothing but the search's budget is in the way.
      REQUIRE(said->reason->moving == Moving::kNoPlan);
      ++unproven;
    } else {
      ++impossible;
    }
  });
  WARN(judged << " gangs judged: " << moved << " helped by moves (" << in_part << " of tasks whose gang waits), " << impossible
              << " proven beyond help, " << dear << " not worth it; " << unproven
              << " without a proof");
  if (!AllSeeds()) return;
  CHECK(moved > 0);
  CHECK(in_part > 0);
  CHECK(unproven <= judged / 100);
}

TEST_CASE("A migrated task runs again in its reservation, and so does the gang it migrated for") {
  int admitted = 0, moves = 0;
  ForEachSeed(1000, [&](std::uint64_t seed) {
    Dice dice(seed + 8000000);
    World world;
    Fragment(dice, world, MoveSettings::Mode::kOn);
    for (int j = 0; j < 3; ++j) {
      world.Tell(JobUpserted{RandomJob(dice, "new" + std::to_string(j)), ++world.version});
    }
    std::set<std::string> admits, running;
    for (const auto& [uid, job] : world.mirror.jobs()) {
      if (world.mirror.Satisfied(job)) running.insert(uid);
    }
    std::map<std::string, std::string> seats;  // moved pods, and where they go
    std::vector<std::string> leaving;
    std::string sent;
    TimeMs now = 5000 * kSecondMs;
    for (int round = 0; round < 40; ++round, now += kSecondMs) {
      const NamedPlan plan = world.Tick(now);
      sent += "round " + std::to_string(round) + "\n" +
              Text(world.engine.state().books().kinds, plan) + world.complaints.all;
      INFO(sent);
      REQUIRE(world.mirror.Follow(plan, now, Mirror::Judge::kSoundness) == "");
      for (const NamedDecision& decision : plan.decisions) {
        if (!decision.moves.empty()) admits.insert(decision.job);
        for (const std::string& pod : decision.evictions) leaving.push_back(pod);
        for (const NamedDecision::Move& move : decision.moves) {
          ++moves;
          seats[move.pod] = move.node + SliceText(move.slices);
        }
        if (decision.verdict != Verdict::kStart) continue;
        running.insert(decision.job);
        for (const NamedPlacement& placed : decision.placements) {
          const auto seat = seats.find(Fact(decision.job, placed.role, placed.index).uid);
          if (seat == seats.end()) continue;
          REQUIRE(seat->second == placed.node + SliceText(placed.slices));
        }
      }
      Confirm(dice, world, plan);
      // They go in any order, some later than others.
      for (std::size_t i = 0; i < leaving.size();) {
        if (dice.Percent(50)) {
          ++i;
          continue;
        }
        world.Tell(TaskRemoved{leaving[i]});
        leaving.erase(leaving.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    INFO(sent);
    REQUIRE(leaving.empty());
    for (const std::string& uid : admits)
      REQUIRE(world.mirror.Satisfied(world.mirror.jobs().at(uid)));
    for (const std::string& uid : running)
      REQUIRE(world.mirror.Satisfied(world.mirror.jobs().at(uid)));
    admitted += static_cast<int>(admits.size());
  });
  WARN(admitted << " gangs admitted by " << moves << " moves");
  if (AllSeeds()) CHECK(admitted > 0);
}

TEST_CASE("Whatever happens while jobs move, books are right and nothing is over-committed") {
  int moves = 0;
  ForEachSeed(400, {441, 2095, 7594, 7974}, [&](std::uint64_t seed) {
    Dice dice(seed + 9000000);
    World world;
    CaseSize size{.queue_limits = true, .groups = seed % 3 == 0};
    RandomHistory history(seed + 9000000, size, {});
    EngineConfig config = Moving(MoveSettings::Mode::kOn);
    config.assume_timeout_ms = 20 * kSecondMs;
    world.Tell(ConfigChanged{config});
    const auto tell = [&](Event event) {
      if (auto* job = std::get_if<JobUpserted>(&event)) {
        job->job.movable = dice.Percent(80);
        job->job.restarts_by_task = dice.Percent(50);
      }
      world.Tell(event);
    };
    for (const Event& event : history.Opening()) tell(event);
    TimeMs now = 0;
    for (int i = 0; i < 150; ++i) {
      INFO("event " << i);
      tell(history.Next(world.mirror));
      if (dice.Percent(40)) continue;
      now += dice.Below(8) * kSecondMs;
      world.mirror.Expire(now, config.assume_timeout_ms);
      const NamedPlan plan = world.Tick(now);
      INFO("the plan:\n" << Text(world.engine.state().books().kinds, plan) << world.complaints.all);
      REQUIRE(world.mirror.Follow(plan, now, Mirror::Judge::kSoundness) == "");
      REQUIRE(world.engine.state().CheckBooks() == "");
      const Books& books = world.engine.state().books();
      REQUIRE(world.mirror.Now().Differs(books.hardware, books.occupancy) == "");
    }
    moves += world.mirror.moves();
  });
  WARN(moves << " tasks were moved");
  if (AllSeeds()) CHECK(moves > 0);
}

}  // namespace
}  // namespace tephra
