// What becomes of a plan: pods that come to be, refusals, stale plans and bindings that fail.
#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

PodTemplate AWorker() { return APod().Gpus(1).Cores(1); }

std::int64_t FreeGpu(const SmallCluster& cluster) {
  return cluster.books().occupancy.free_total()[kGpu];
}
TaskPhase Phase(const SmallCluster& cluster, const std::string& job, std::size_t index) {
  return cluster.books().tasks[cluster.job(job).roles[0].tasks[index].index()].phase;
}

// --- pods come to be -----------------------------------------------------------------------

TEST_CASE(
    "Pods: a reservation before the pods exist is dropped when they come, and decided again") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(4)).Add(AJob("j").Role("w", 4, AWorker())).Tick();
  REQUIRE(cluster.Started("j"));
  CHECK(FreeGpu(cluster) == 0);
  cluster.Task("j", "w", 0, TaskPhase::kPending).Task("j", "w", 2, TaskPhase::kPending);
  CHECK(Phase(cluster, "j", 0) == TaskPhase::kAssumed);
  cluster.Add(AJob("j").Role("w", 4, AWorker()).PodsExist());
  CHECK(FreeGpu(cluster) == 4000);
  CHECK(Phase(cluster, "j", 0) == TaskPhase::kPending);
  CHECK(Phase(cluster, "j", 1) == TaskPhase::kAbsent);
  cluster.Tick(1);
  CHECK(cluster.Of("j").reason->obstacle == Obstacle::kMembers);
  CHECK(cluster.Why("j") == "pods are missing: 2 of 4 pods exist");
  cluster.Task("j", "w", 1, TaskPhase::kPending).Task("j", "w", 3, TaskPhase::kPending).Tick(2);
  CHECK(cluster.Started("j"));
}

TEST_CASE("Pods: a role short of pods is named") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(4));
  cluster.Add(
      AJob("j").Role("a", 2, AWorker(), 2).Role("b", 2, AWorker(), 1).MinMember(3).PodsExist());
  cluster.Task("j", "a", 0, TaskPhase::kPending).Task("j", "b", 0, TaskPhase::kPending).Tick();
  CHECK(cluster.Why("j") == "pods are missing: 1 of 2 pods of role a exist");
}

TEST_CASE("Pods: only what has a pod is placed, members beyond the minimum too") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(4));
  cluster.Add(AJob("j").Role("w", 4, AWorker()).MinMember(1).PodsExist()).Tick();
  CHECK(cluster.plan().decisions.empty());
  cluster.Task("j", "w", 1, TaskPhase::kPending).Task("j", "w", 3, TaskPhase::kPending).Tick(1);
  CHECK(FreeGpu(cluster) == 2000);
}

TEST_CASE("Pods: a pod that is gone leaves its place absent, and one that succeeded still counts") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(2)).Add(AJob("j").Role("w", 2, AWorker()).PodsExist());
  cluster.Task("j", "w", 0, TaskPhase::kPending).Task("j", "w", 1, TaskPhase::kPending).Tick();
  cluster.Confirm().Gone("j/w/0");
  CHECK(Phase(cluster, "j", 0) == TaskPhase::kAbsent);
  CHECK(cluster.Tick(1).decisions.empty());
  cluster.Task("j", "w", 1, TaskPhase::kSucceeded).Gone("j/w/1");
  CHECK(Phase(cluster, "j", 1) == TaskPhase::kSucceeded);
  cluster.Task("j", "w", 0, TaskPhase::kPending).Tick(2);
  CHECK(cluster.Started("j"));
}

TEST_CASE("Pods: when none is expected any more, every place asks again") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(2)).Add(AJob("j").Role("w", 2, AWorker()).PodsExist());
  cluster.Task("j", "w", 0, TaskPhase::kPending).Gone("j/w/0");
  CHECK(cluster.Tick().decisions.empty());
  cluster.Add(AJob("j").Role("w", 2, AWorker())).Tick(1);
  CHECK(cluster.Started("j"));
}

TEST_CASE("Pods: an assumption about a pod that another has replaced is given up") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(1)).Add(AJob("j").Role("w", 1, AWorker()).PodsExist());
  cluster.Task("j", "w", 0, TaskPhase::kPending).Tick();
  REQUIRE(cluster.Started("j"));
  TaskFact other;
  other.uid = "other", other.job = "j", other.role = "w";
  cluster.Tell(TaskUpserted{other, 1}).Tick(1);
  CHECK(cluster.Started("j"));
}

// --- refusals and stale plans --------------------------------------------------------------

// Two members run, a third was handed over by a second plan, its binding under way.
void GrowByOne(SmallCluster& cluster) {
  cluster.Add(ANode("a").Gpus(2)).Add(AJob("j").Role("w", 3, AWorker()).MinMember(2)).Tick();
  cluster.Confirm().Add(ANode("b").Gpus(1)).Tick(1);
  REQUIRE(Phase(cluster, "j", 2) == TaskPhase::kAssumed);
}

TEST_CASE("Refusal: a binding under way of an earlier plan stays, and so does what runs") {
  SmallCluster cluster;
  GrowByOne(cluster);
  cluster.Add(ANode("c").Gpus(1)).Add(AJob("j").Role("w", 4, AWorker()).MinMember(2)).Tick(2);
  REQUIRE(Phase(cluster, "j", 3) == TaskPhase::kAssumed);
  cluster.Tell(PlacementRefused{"j", "w", "c", "port"});
  CHECK(Phase(cluster, "j", 0) == TaskPhase::kRunning);
  CHECK(Phase(cluster, "j", 2) == TaskPhase::kAssumed);
  CHECK(Phase(cluster, "j", 3) == TaskPhase::kPending);
}

TEST_CASE("Refusal: of elastic members it leaves the minimum of the same plan alone") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(3)).Add(AJob("j").Role("w", 3, AWorker()).MinMember(2)).Tick();
  // Both parts are on the node: only the refusal can tell.
  cluster.Tell(PlacementRefused{"j", "w", "a", "port", true});
  CHECK(Phase(cluster, "j", 0) == TaskPhase::kAssumed);
  CHECK(Phase(cluster, "j", 2) == TaskPhase::kPending);
  // Here the role is on the node for the elastic part alone.
  SmallCluster other;
  other.Add(ANode("a").Gpus(2)).Add(ANode("b").Gpus(1).Label("zone", "b"));
  other.Add(AJob("j")
                .Role("w", 2, APod().Gpus(1).Models({"H100"}), 2)
                .Role("x", 1, APod().Cores(1).Select("zone", "b"))
                .MinMember(2));
  other.Tick();
  REQUIRE(other.job("j").pending() == 0);
  other.Tell(PlacementRefused{"j", "x", "b", "port"});
  CHECK(Phase(other, "j", 0) == TaskPhase::kAssumed);
  CHECK(other.job("j").pending() == 1);
}

TEST_CASE("Refusal: of the minimum it takes the plan's elastic members along") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(3)).Add(AJob("j").Role("w", 3, AWorker()).MinMember(2)).Tick();
  cluster.Tell(PlacementRefused{"j", "w", "a", "port"});
  CHECK(FreeGpu(cluster) == 3000);
}

TEST_CASE("Refusal: one about a node where nothing is assumed takes nothing back") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(ANode("b")).Add(AJob("j").Role("w", 1, AWorker())).Tick();
  cluster.Tell(PlacementRefused{"j", "w", "b", "port"});
  CHECK(Phase(cluster, "j", 0) == TaskPhase::kAssumed);
}

TEST_CASE("Stale plan: what the latest plan assumed is undone, and the gang asks again") {
  SmallCluster cluster;
  GrowByOne(cluster);
  cluster.Tell(PlanStale{"j", "a pod is gone"});
  CHECK(Phase(cluster, "j", 2) == TaskPhase::kPending);
  CHECK(Phase(cluster, "j", 0) == TaskPhase::kRunning);
  cluster.Tick(2);
  CHECK(Phase(cluster, "j", 2) == TaskPhase::kAssumed);  // no node is held against it
}

TEST_CASE("Stale plan: of elastic members it leaves the minimum alone") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(3)).Add(AJob("j").Role("w", 3, AWorker()).MinMember(2)).Tick();
  cluster.Tell(PlanStale{"j", "a pod is gone", true});
  CHECK(FreeGpu(cluster) == 1000);
}

TEST_CASE(
    "Outcomes: of a job that is gone they say nothing; of a role or index unknown, an error") {
  State state;
  for (const Event& event : std::vector<Event>{PlanStale{"j", ""}, BindFailed{"j", "w", 0, "n", ""},
                                               PlacementRefused{"j", "w", "n", ""}}) {
    CHECK(state.Apply(event).ok());
  }
  REQUIRE(state.Apply(JobUpserted{AJob("j").Role("w", 1, AWorker()), 1}).ok());
  CHECK(absl::IsNotFound(state.Apply(BindFailed{"j", "x", 0, "n", ""})));
  CHECK(absl::IsNotFound(state.Apply(BindFailed{"j", "w", 1, "n", ""})));
  CHECK(absl::IsNotFound(state.Apply(BindFailed{"j", "w", -1, "n", ""})));
}

// --- bindings that fail --------------------------------------------------------------------

// Three of four run, the fourth's binding failed.
void BreakOne(SmallCluster& cluster) {
  cluster.Add(ANode("a").Gpus(4)).Add(AJob("j").Role("w", 4, AWorker())).Tick();
  REQUIRE(cluster.Started("j"));
  for (int i = 0; i < 3; ++i) {
    const NamedPlacement& placed = cluster.Of("j").placements[static_cast<std::size_t>(i)];
    cluster.Task("j", "w", placed.index, TaskPhase::kRunning, placed.node, placed.slices);
  }
  cluster.Tell(BindFailed{"j", "w", 3, "a", "conflict"});
  CHECK(Phase(cluster, "j", 3) == TaskPhase::kPending);
}

TEST_CASE("Stale plan: a job with the id of a removed one brings back none of its victims") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(1)).Add(AJob("low").Role("w", 1, AWorker())).Tick();
  cluster.Confirm();
  cluster.Add(AJob("high").Role("w", 1, AWorker()).Priority(10)).Tick(1);
  REQUIRE(Phase(cluster, "low", 0) == TaskPhase::kReleasing);
  const JobId high = cluster.engine().state().FindJob("high");
  cluster.Tell(JobRemoved{"high"}).Add(AJob("next").Role("w", 1, AWorker()).Priority(10)).Tick(2);
  REQUIRE(cluster.engine().state().FindJob("next") == high);
  REQUIRE(cluster.job("next").keeps_room());
  cluster.Tell(PlanStale{"next", "for the test"});
  CHECK(!cluster.job("next").keeps_room());
  CHECK(Phase(cluster, "low", 0) == TaskPhase::kReleasing);
}

TEST_CASE("Failed binding: the gang is completed on another node where there is room") {
  SmallCluster cluster;
  BreakOne(cluster);
  cluster.Add(ANode("b").Gpus(1)).Tick(1);
  REQUIRE(cluster.Started("j"));
  CHECK(cluster.Of("j").placements.at(0).node == "b");
  CHECK(cluster.Of("j").evictions.empty());
  CHECK_FALSE(cluster.job("j").broken);
}

// While its roles are reshaped one by one the gang seems whole for a moment.
TEST_CASE("Failed binding: a job that changes and is as incomplete as before stays broken") {
  SmallCluster cluster;
  BreakOne(cluster);
  cluster.Add(AJob("j").Role("w", 3, AWorker(), 3).Role("x", 1, AWorker(), 1).MinMember(3));
  CHECK(cluster.job("j").broken);
}

TEST_CASE("Failed binding: a gang that cannot be completed gives its room back, said once") {
  SmallCluster cluster;
  BreakOne(cluster);
  cluster.Tick(1);
  CHECK(cluster.Of("j").verdict == Verdict::kUnwind);
  CHECK(Only(cluster.Of("j")) == Misfit::kRefused);
  CHECK(cluster.Of("j").evictions == std::vector<std::string>{"j/w/0", "j/w/1", "j/w/2"});
  CHECK(FreeGpu(cluster) == 1000);  // until they are gone
  CHECK(cluster.Tick(2).decisions.empty());
  // A fact from before the eviction does not undo it.
  cluster.Task("j", "w", 0, TaskPhase::kRunning, "a").Add(ANode("z")).Tick(3);
  CHECK(cluster.Of("j").evictions.empty());
  for (const char* pod : {"j/w/0", "j/w/1", "j/w/2"}) cluster.Gone(pod);
  CHECK(FreeGpu(cluster) == 4000);
  cluster.Add(ANode("b").Gpus(4)).Tick(4);
  CHECK(cluster.Started("j"));
  CHECK(cluster.Of("j").placements.size() == 4);
}

TEST_CASE("Failed binding: an eviction that is not executed is decided again") {
  SmallCluster cluster;
  BreakOne(cluster);
  cluster.Tell(PlacementRefused{"j", "w", "a", "for good"}).Tick(1);
  CHECK(cluster.Of("j").evictions.size() == 3);
  CHECK(cluster.Tick(30 * kSecondMs).decisions.empty());
  cluster.Tick(1 + 30 * kSecondMs);
  CHECK(cluster.Of("j").evictions.size() == 3);
}

TEST_CASE("Failed binding: while another one is under way the gang is not unwound yet") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(3)).Add(AJob("j").Role("w", 3, AWorker())).Tick();
  const NamedPlacement first = cluster.Of("j").placements[0];
  const NamedPlacement second = cluster.Of("j").placements[1];
  cluster.Task("j", "w", first.index, TaskPhase::kRunning, "a", first.slices);
  cluster.Tell(BindFailed{"j", "w", 2, "a", "conflict"}).Tick(1);
  CHECK(cluster.Of("j").verdict == Verdict::kWait);
  CHECK(cluster.Of("j").evictions.empty());
  cluster.Task("j", "w", second.index, TaskPhase::kRunning, "a", second.slices).Tick(2);
  CHECK(cluster.Of("j").evictions.size() == 2);
}

TEST_CASE("Failed binding: a gang that misses a member for another reason evicts no task") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(2)).Add(AJob("j").Role("w", 2, AWorker())).Tick();
  cluster.Confirm().Foreign("f", "a", APod().Cores(63));
  cluster.Task("j", "w", 1, TaskPhase::kFailed).Task("j", "w", 1, TaskPhase::kPending).Tick(1);
  CHECK(cluster.Of("j").verdict == Verdict::kWait);
  CHECK(cluster.Of("j").evictions.empty());
}

TEST_CASE(
    "Failed binding: a gang that became complete forgets, and a later failure evicts no task") {
  SmallCluster cluster;
  BreakOne(cluster);
  cluster.Add(ANode("b").Gpus(1)).Tick(1);
  cluster.Confirm().Tell(NodeRemoved{"b"});
  cluster.Task("j", "w", 3, TaskPhase::kFailed).Task("j", "w", 3, TaskPhase::kPending).Tick(2);
  CHECK(cluster.Of("j").evictions.empty());
}

TEST_CASE("Failed binding: evictions and placements that lapse together leave the gang broken") {
  SmallCluster cluster;
  EngineConfig config;
  config.assume_timeout_ms = 100;
  cluster.Tell(ConfigChanged{config});
  cluster.Add(ANode("a").Gpus(3));
  cluster.Add(AJob("j").Role("w", 6, AWorker()).MinMember(3)).Tick(1000);
  const std::vector<NamedPlacement> placed = cluster.Of("j").placements;
  REQUIRE(placed.size() == 3);
  for (const NamedPlacement& one : {placed[0], placed[1]}) {
    cluster.Task("j", "w", one.index, TaskPhase::kRunning, "a", one.slices);
  }
  cluster.Tell(BindFailed{"j", "w", placed[2].index, "a", "conflict"}).Tick(1001);
  REQUIRE(cluster.Of("j").evictions.size() == 2);
  cluster.Add(ANode("b").Gpus(3)).Tick(1001);
  REQUIRE(cluster.Started("j"));
  // Neither the evictions nor the placements come true, and there is no room for the rest.
  cluster.Foreign("f", "a", AWorker()).Tell(NodeRemoved{"b"}).Tick(1101);
  CHECK(cluster.Of("j").evictions.size() == 2);
}

TEST_CASE("Failed binding: of a member beyond the minimum it breaks nothing") {
  SmallCluster cluster;
  GrowByOne(cluster);
  cluster.Tell(BindFailed{"j", "w", 2, "b", "conflict"}).Tick(2);
  CHECK_FALSE(cluster.job("j").broken);
  CHECK(cluster.plan().decisions.at(0).part == Part::kElastic);
  CHECK(cluster.plan().decisions[0].verdict == Verdict::kWait);
}

TEST_CASE("Failed binding: one that runs by a fact, or is assumed elsewhere, is left alone") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(ANode("b")).Add(AJob("j").Role("w", 1, AWorker())).Tick();
  cluster.Tell(BindFailed{"j", "w", 0, "b", "late"});
  CHECK(Phase(cluster, "j", 0) == TaskPhase::kAssumed);
  cluster.Confirm().Tell(BindFailed{"j", "w", 0, "a", "late"});
  CHECK(Phase(cluster, "j", 0) == TaskPhase::kRunning);
}

TEST_CASE(
    "Failed binding: the node is tried again after a while, a refused one only when it changes") {
  SmallCluster cluster;
  EngineConfig config;
  config.assume_timeout_ms = 100;
  cluster.Tell(ConfigChanged{config});
  cluster.Add(ANode("a").Gpus(1)).Add(AJob("j").Role("w", 1, AWorker())).Tick(1000);
  cluster.Tell(BindFailed{"j", "w", 0, "a", "conflict"}).Tick(1099);
  CHECK(Only(cluster.Of("j")) == Misfit::kRefused);
  cluster.Tick(1100);
  REQUIRE(cluster.Started("j"));
  cluster.Tell(BindFailed{"j", "w", 0, "a", "conflict"});
  cluster.Tell(PlacementRefused{"j", "w", "a", "no volume"}).Tick(9000);
  CHECK(Only(cluster.Of("j")) == Misfit::kRefused);
  cluster.Add(ANode("a").Gpus(2)).Tick(9001);
  CHECK(cluster.Started("j"));
}

TEST_CASE("Failed binding: without a node it holds nothing against any") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(AJob("j").Role("w", 1, AWorker())).Tick();
  cluster.Tell(BindFailed{"j", "w", 0, "", "the API server did not answer"}).Tick(1);
  CHECK(cluster.Started("j"));
}

}  // namespace
}  // namespace tephra
