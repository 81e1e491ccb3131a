// Gangs through the whole engine: minimums, elastic members, order, search, and what is said.
#include <set>

#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

const NamedDecision* Elastic(const NamedPlan& plan, const std::string& job, Verdict verdict) {
  for (const NamedDecision& decision : plan.decisions) {
    if (decision.job == job && decision.part == Part::kElastic && decision.verdict == verdict) {
      return &decision;
    }
  }
  return nullptr;
}

TEST_CASE("Gang: the minimum and no more is one decision, elastic members are another") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(8)).Add(AJob("j").Role("w", 6, APod().Gpus(1)).MinMember(2));
  const NamedPlan& plan = cluster.Tick();
  CHECK(cluster.Of("j").placements.size() == 2);
  REQUIRE(Elastic(plan, "j", Verdict::kStart));
  CHECK(Elastic(plan, "j", Verdict::kStart)->placements.size() == 4);
  CHECK(Elastic(plan, "j", Verdict::kWait) == nullptr);
}

TEST_CASE("Gang: elastic members of the first wait until the last gang had its turn") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(8));
  cluster.Add(AJob("a").Role("w", 8, APod().Gpus(1)).MinMember(2).Priority(9));
  cluster.Add(AJob("z").Role("w", 5, APod().Gpus(1)));
  const NamedPlan& plan = cluster.Tick();
  CHECK(cluster.Started("z"));
  REQUIRE(Elastic(plan, "a", Verdict::kStart));
  CHECK(Elastic(plan, "a", Verdict::kStart)->placements.size() == 1);
  REQUIRE(Elastic(plan, "a", Verdict::kWait));
}

TEST_CASE("Gang: a gang with no minimum at all runs by its elastic members alone") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(3)).Add(AJob("j").Role("w", 5, APod().Gpus(1)).MinMember(0));
  const NamedPlan& plan = cluster.Tick();
  REQUIRE(Elastic(plan, "j", Verdict::kStart));
  CHECK(Elastic(plan, "j", Verdict::kStart)->placements.size() == 3);
}

TEST_CASE("Gang: tasks of a role are placed by index, lowest first") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(3)).Add(AJob("j").Role("w", 5, APod().Gpus(1)).MinMember(3)).Tick();
  std::set<int> indexes;
  for (const NamedPlacement& placed : cluster.Of("j").placements) indexes.insert(placed.index);
  CHECK(indexes == std::set<int>{0, 1, 2});
}

TEST_CASE("Gang: a gang that needs 17 GPUs of 16 has a reason in numbers") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(ANode("b").Gpus(8));
  cluster.Add(AJob("j").Role("w", 17, APod().Gpus(1))).Tick();
  const NamedDecision& said = cluster.Of("j");
  CHECK(said.verdict == Verdict::kInfeasible);
  CHECK(said.reason->tasks_needed == 17);
  CHECK(said.reason->tasks_fit == 16);
  CHECK(said.reason->per_task == 1000);
  CHECK(said.reason->free_total == 16000);
  CHECK(said.reason->capacity_total == 16000);
}

TEST_CASE("Gang: on nodes that foreign pods over-committed nothing is free, and never less than nothing") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Cores(4)).Foreign("f", "a", APod().Cores(6));
  cluster.Add(ANode("b").Cores(4).Cordoned());  // so that not the totals of all nodes serve
  cluster.Add(AJob("j").Role("w", 1, APod().Cores(1))).Tick();
  CHECK(cluster.Of("j").reason->best_free == 0);
  CHECK(cluster.Of("j").reason->free_total == 0);
  cluster.Add(ANode("b").Cores(4)).Foreign("g", "b", APod().Cores(9));
  cluster.Add(AJob("k").Role("w", 1, APod().Cores(1))).Tick();
  CHECK(cluster.Of("k").reason->best_free == 0);
  CHECK(cluster.Of("k").reason->free_total == 0);
  CHECK(cluster.Of("k").reason->capacity_total == 8000);
}

TEST_CASE("Gang: a role without a minimum of its own is asked for what the others cannot give") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Cores(8).Gpus(2));
  cluster.Add(AJob("j").Role("cpu", 4, APod().Cores(4)).Role("gpu", 4, APod().Gpus(1)).MinMember(6))
      .Tick();
  CHECK(cluster.Of("j").verdict == Verdict::kInfeasible);
  // Two of each fit, and six are needed: four of whichever role is named.
  CHECK(cluster.Of("j").reason->tasks_needed == 4);
  CHECK(cluster.Of("j").reason->tasks_fit == 2);
}

TEST_CASE("Gang: the role that is named is one that lacks room, not one that has too few tasks") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Cores(64).Gpus(1));
  cluster
      .Add(AJob("j").Role("easy", 4, APod().Cores(1)).Role("hard", 2, APod().Gpus(2)).MinMember(5))
      .Tick();
  CHECK(cluster.Of("j").verdict == Verdict::kInfeasible);
  CHECK(cluster.Of("j").reason->role == "hard");
  CHECK(cluster.Of("j").reason->tasks_needed == 1);
  CHECK(cluster.Of("j").reason->tasks_fit == 0);
}

TEST_CASE("Gang: infeasible speaks of the empty cluster, wait of the one of now") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Foreign("f", "a", APod().Gpus(6));
  cluster.Add(AJob("never").Role("w", 1, APod().Gpus(9)));
  cluster.Add(AJob("later").Role("w", 1, APod().Gpus(8))).Tick();
  CHECK(cluster.Of("never").verdict == Verdict::kInfeasible);
  CHECK(cluster.Of("never").reason->free_total == 8000);
  CHECK(cluster.Of("later").verdict == Verdict::kWait);
  CHECK(cluster.Of("later").reason->free_total == 2000);
  CHECK(cluster.Of("later").reason->best_node == "a");
}

TEST_CASE("Gang: members that are missing are a reason of their own") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(8)).Add(AJob("j").Role("w", 3, APod().Gpus(1))).Tick();
  cluster.Confirm();
  cluster.Task("j", "w", 0, TaskPhase::kFailed).Task("j", "w", 1, TaskPhase::kFailed);
  cluster.Task("j", "w", 0, TaskPhase::kPending).Tick(1);
  CHECK(cluster.Of("j").verdict == Verdict::kWait);
  CHECK(cluster.Of("j").reason->obstacle == Obstacle::kMembers);
  CHECK(cluster.Of("j").reason->tasks_needed == 2);
  CHECK(cluster.Of("j").reason->tasks_fit == 1);
}

TEST_CASE("Gang: greedy fails and the search finds it") {
  // Best-fit for "plain" is the smaller node b; but only b takes "picky".
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(4)).Add(ANode("b").Gpus(2).Label("ok", "1"));
  cluster.Add(AJob("j")
                  .Role("plain", 1, APod().Gpus(2).Cores(2))
                  .Role("picky", 1, APod().Gpus(2).Select("ok", "1")));
  cluster.Tick();
  CHECK(cluster.Started("j"));
}

TEST_CASE("Gang: search budget spent is said as such, and never as impossible") {
  EngineConfig config;
  config.search_budget = 0;
  SmallCluster cluster(config);
  cluster.Add(ANode("a").Gpus(4)).Add(ANode("b").Gpus(2).Label("ok", "1"));
  cluster.Add(AJob("j")
                  .Role("plain", 1, APod().Gpus(2).Cores(2))
                  .Role("picky", 1, APod().Gpus(2).Select("ok", "1")));
  cluster.Tick();
  CHECK(cluster.Of("j").verdict == Verdict::kWait);
  CHECK(cluster.Of("j").reason->obstacle == Obstacle::kSearch);
}

TEST_CASE("Gang: one search budget more or less never changes a start into another placement") {
  for (int budget : {200, 20000}) {
    EngineConfig config;
    config.search_budget = budget;
    SmallCluster cluster(config);
    cluster.Add(ANode("a").Gpus(4)).Add(ANode("b").Gpus(2).Label("ok", "1"));
    cluster.Add(AJob("j")
                    .Role("plain", 1, APod().Gpus(2).Cores(2))
                    .Role("picky", 1, APod().Gpus(2).Select("ok", "1")));
    cluster.Tick();
    REQUIRE(cluster.Started("j"));
    for (const NamedPlacement& placed : cluster.Of("j").placements) {
      CHECK(placed.node == (placed.role == "picky" ? "b" : "a"));
    }
  }
}

TEST_CASE("Gang: cards that differ by uuid alone are alike to the search") {
  // Ten nodes of two cards, six gang tasks of shapes that cannot all fit: proven well within the
  // budget only if equal nodes are tried once.
  SmallCluster cluster;
  for (int n = 0; n < 10; ++n) {
    NodeSpec node = ANode("n" + std::to_string(n)).Gpus(3);
    for (std::size_t d = 0; d < 3; ++d) {
      node.devices[d].uuid = "GPU-" + std::to_string(n) + "-" + std::to_string(d);
    }
    cluster.Add(node);
  }
  cluster.Add(AJob("j").Role("two", 10, APod().Gpus(2)).Role("also", 1, APod().Gpus(2).Cores(1)));
  cluster.Tick();
  CHECK(cluster.Of("j").verdict == Verdict::kInfeasible);
  CHECK(cluster.Of("j").reason->obstacle == Obstacle::kTogether);
}

TEST_CASE("Gang: of equal nodes the one whose name sorts first is taken") {
  SmallCluster cluster;
  cluster.Add(ANode("c").Gpus(1)).Add(ANode("a").Gpus(1)).Add(ANode("b").Gpus(1));
  cluster.Add(AJob("j").Role("w", 1, APod().Gpus(1))).Tick();
  CHECK(cluster.Of("j").placements[0].node == "a");
}

TEST_CASE("Gang: random ties depend on the seed and the job, not on chance") {
  std::set<std::string> nodes;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::string first;
    for (int again = 0; again < 2; ++again) {
      EngineConfig config;
      config.ties = Ties::kRandom;
      config.seed = seed;
      SmallCluster cluster(config);
      for (const char* name : {"a", "b", "c", "d"}) cluster.Add(ANode(name).Gpus(1));
      cluster.Add(AJob("j").Role("w", 1, APod().Gpus(1))).Tick();
      const std::string node = cluster.Of("j").placements[0].node;
      if (again == 0) first = node;
      CHECK(node == first);
      nodes.insert(node);
    }
  }
  CHECK(nodes.size() == 4);
}

TEST_CASE("Gang: a thousand tasks that cannot fit are refused without a search") {
  SmallCluster cluster;
  for (int n = 0; n < 20; ++n) cluster.Add(ANode("n" + std::to_string(n)).Gpus(8));
  cluster.Add(AJob("j").Role("w", 1000, APod().Gpus(1))).Tick();
  CHECK(cluster.Of("j").verdict == Verdict::kInfeasible);
  CHECK(cluster.Of("j").reason->tasks_fit == 160);
}

}  // namespace
}  // namespace tephra
