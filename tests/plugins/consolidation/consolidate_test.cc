// Moves outside a simulation: pods that are created again one by one or not at all, disruption
// budgets, decisions that are not carried out, times of the day.
#include "plugins/consolidation/consolidate.h"

#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

constexpr TimeMs kHour = 60 * 60 * kSecondMs;

EngineConfig On() {
  EngineConfig config;
  config.node_scores = {{"spread", 1}};
  config.disabled_actions = {"reclaim", "preempt"};
  config.moves.mode = MoveSettings::Mode::kOn;
  return config;
}

TaskFact Pod(const std::string& job, int index, TaskPhase phase, const std::string& node = "",
             Slices slices = {}) {
  TaskFact fact;
  fact.uid = job + "/w/" + std::to_string(index);
  fact.job = job;
  fact.role = "w";
  fact.index = index;
  fact.phase = phase;
  fact.node = node;
  fact.slices = std::move(slices);
  return fact;
}

// Two tasks of `pair` on the first node, room for it in pieces on the other two nodes, and a gang that
// needs the whole first node. Pods exist: an evicted task returns when its pod is created again.
struct Stage {
  SmallCluster cluster;
  std::uint64_t version = 1000;

  explicit Stage(const EngineConfig& config = On(), int budget = -1) : cluster(config) {
    cluster.Add(ANode("a").Gpus(2)).Add(ANode("b").Gpus(2)).Add(ANode("c").Gpus(2));
    if (budget >= 0) cluster.Tell(DisruptionBudgetUpserted{"pdb", budget, ++version});
    cluster.Add(AJob("pair").Role("w", 2, APod().Gpus(1), 2).MinMember(2).PodsExist().Movable());
    for (int i = 0; i < 2; ++i) {
      TaskFact fact =
          Pod("pair", i, TaskPhase::kRunning, "a", {WholeSlice(static_cast<std::uint16_t>(i))});
      if (budget >= 0) fact.disruption_budgets = {"pdb"};
      cluster.Tell(TaskUpserted{fact, ++version});
    }
    for (const char* name : {"b", "c"}) {
      cluster.Add(AJob(name).Role("w", 1, APod().Gpus(1)).PodsExist());
      cluster.Tell(
          TaskUpserted{Pod(name, 0, TaskPhase::kRunning, name, {WholeSlice(0)}), ++version});
    }
    cluster.Add(AJob("train").Role("w", 1, APod().Gpus(2)));
    Sound();
  }
  const NamedPlan& Tick(TimeMs now) {
    const NamedPlan& plan = cluster.Tick(now);
    CHECK(plan.dropped.empty());
    Sound();
    return plan;
  }
  void Comes(int index) {
    cluster.Tell(TaskUpserted{Pod("pair", index, TaskPhase::kPending), ++version});
    Sound();
  }
  void Sound() { REQUIRE(cluster.engine().state().CheckBooks() == ""); }
};

TEST_CASE("Consolidate: a moved gang starts in its reserved room once all of its pods are back") {
  Stage world;
  world.Tick(kSecondMs);
  const NamedDecision train = world.cluster.Of("train");
  CHECK(train.verdict == Verdict::kStartAfterEviction);
  REQUIRE(train.moves.size() == 2);
  CHECK(train.reason->moving == Moving::kDone);
  CHECK(world.cluster.job("pair").reservation->rows == 2);
  world.cluster.Gone("pair/w/0");
  world.cluster.Add(AJob("thief").Role("w", 1, APod().Gpus(1)));
  CHECK_FALSE((world.Tick(2 * kSecondMs), world.cluster.Started("thief")));
  world.cluster.Gone("pair/w/1");
  world.Tick(3 * kSecondMs);
  CHECK(world.cluster.Started("train"));
  world.Comes(1);
  for (const NamedDecision& one : world.Tick(4 * kSecondMs).decisions) CHECK(one.job != "pair");
  world.Comes(0);
  world.Tick(5 * kSecondMs);
  REQUIRE(world.cluster.Started("pair"));
  for (const NamedPlacement& placed : world.cluster.Of("pair").placements) {
    const std::string pod = "pair/w/" + std::to_string(placed.index);
    for (const NamedDecision::Move& move : train.moves) {
      if (move.pod == pod) CHECK(move.node == placed.node);
    }
  }
  CHECK(world.cluster.job("pair").reservation->rows == 0);
}

TEST_CASE("Consolidate: a reservation ends when its task has not returned within the timeout") {
  Stage world;
  world.Tick(kSecondMs);
  world.cluster.Gone("pair/w/0").Gone("pair/w/1");
  world.cluster.Add(AJob("next").Role("w", 1, APod().Gpus(1)));
  world.Tick(2 * kSecondMs);
  CHECK_FALSE(world.cluster.Started("next"));
  world.cluster.Confirm();
  world.Comes(0);
  world.Tick(On().moves.return_timeout_ms);
  CHECK(world.cluster.job("pair").reservation->rows == 2);
  world.Tick(On().moves.return_timeout_ms + kSecondMs);
  CHECK(world.cluster.job("pair").reservation->rows == 0);
  CHECK(world.cluster.Started("next"));
}

TEST_CASE("Consolidate: a decision that is not carried out moves no task") {
  Stage world;
  world.Tick(kSecondMs);
  world.cluster.Tell(PlanStale{"train", "the group is gone"});
  world.Sound();
  CHECK(world.cluster.job("pair").reservation->rows == 0);
  CHECK(world.cluster.job("pair").satisfied());
}

TEST_CASE("Consolidate: a move that no fact confirms is off after a while, and its room is free") {
  Stage world;
  world.Tick(kSecondMs);
  world.Tick(On().assume_timeout_ms + kSecondMs);
  CHECK(world.cluster.job("pair").satisfied());
}

TEST_CASE("Consolidate: no more tasks move than a disruption budget allows") {
  Stage one(On(), 1), two(On(), 2);
  one.Tick(kSecondMs);
  CHECK(one.cluster.Of("train").verdict == Verdict::kWait);
  CHECK(one.cluster.Of("train").reason->moving == Moving::kNoPlan);
  two.Tick(kSecondMs);
  CHECK(two.cluster.Of("train").verdict == Verdict::kStartAfterEviction);
}

TEST_CASE("Consolidate: a budget of moves too small for a whole gang is reported with its numbers") {
  EngineConfig config = On();
  config.moves.moves_per_hour = 1;
  Stage world(config);
  world.Tick(kSecondMs);
  CHECK(world.cluster.Of("train").reason->moving == Moving::kBudget);
  CHECK(world.cluster.Why("train").find(
            "migrating 2 tasks of 1 job would make room, but only 1 may migrate now") !=
        std::string::npos);
}

TEST_CASE("Consolidate: least run time, and jobs that are not preemptible, are left alone") {
  Stage world;
  world.cluster.Add(AJob("pair")
                        .Role("w", 2, APod().Gpus(1), 2)
                        .MinMember(2)
                        .PodsExist()
                        .Movable()
                        .MinRun(kHour));
  world.Tick(kSecondMs);
  CHECK(world.cluster.Of("train").verdict == Verdict::kWait);
  world.cluster.Add(AJob("pair")
                        .Role("w", 2, APod().Gpus(1), 2)
                        .MinMember(2)
                        .PodsExist()
                        .Movable()
                        .Preemptible(false));
  world.cluster.Add(AJob("train").Role("w", 1, APod().Gpus(2)));
  world.Tick(2 * kSecondMs);
  CHECK(world.cluster.Of("train").verdict == Verdict::kWait);
}

TEST_CASE("Consolidate: in a dry run the plan proposes, and nothing is reserved") {
  EngineConfig config = On();
  config.moves.mode = MoveSettings::Mode::kDryRun;
  Stage world(config);
  const Plan plan = world.cluster.engine().Tick(kSecondMs);
  REQUIRE(plan.proposals.size() == 1);
  CHECK(plan.proposals[0].moves.size() == 2);
  CHECK(plan.proposals[0].reason->moving == Moving::kProposed);
  for (const Decision& decision : plan.decisions) CHECK(decision.evictions.empty());
  CHECK(world.cluster.job("pair").reservation->rows == 0);
}

TEST_CASE("Consolidate: a window that ends when it begins is refused by its field and value") {
  EngineConfig config;
  config.moves.windows = {{60, 120}, {600, 600}};
  const absl::Status status = DefaultAssembly().validate(config);
  CHECK(std::string(status.message()).find("600 to 600") != std::string::npos);
  config.moves.windows.pop_back();
  CHECK(DefaultAssembly().validate(config).ok());
}

TEST_CASE("Consolidate: windows of the day may go past midnight") {
  const std::vector<DailyWindow> night = {{22 * 60, 6 * 60}}, noon = {{12 * 60, 13 * 60}};
  CHECK(WithinWindows({}, 5 * kHour));
  CHECK(WithinWindows(night, 22 * kHour));
  CHECK(WithinWindows(night, 24 * kHour));
  CHECK_FALSE(WithinWindows(night, 30 * kHour));
  CHECK_FALSE(WithinWindows(noon, 13 * kHour));
  CHECK(WithinWindows(noon, 12 * kHour + 59 * 60 * kSecondMs));
  CHECK(NextWindow(night, 30 * kHour + 1) == 46 * kHour);
  CHECK(NextWindow(noon, 13 * kHour) == 36 * kHour);
  CHECK(NextWindow({{12 * 60, 13 * 60}, {20 * 60, 21 * 60}}, 14 * kHour) == 20 * kHour);
}

}  // namespace
}  // namespace tephra
