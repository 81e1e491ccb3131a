// How facts fold into State, and what of it the next cycle sees.
#include "engine/state.h"

#include <catch2/catch.hpp>

#include "tests/engine/state_rows.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

TEST_CASE("State: a gang that lost one member is completed, the others stay") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(4)).Add(AJob("j").Role("w", 4, OneGpu()));
  cluster.Tick();
  REQUIRE(cluster.Started("j"));
  cluster.Confirm().Gone("j/w/2");
  const NamedPlan& plan = cluster.Tick(1);
  REQUIRE(plan.decisions.size() == 1);
  CHECK(plan.decisions[0].verdict == Verdict::kStart);
  REQUIRE(plan.decisions[0].placements.size() == 1);
  CHECK(plan.decisions[0].placements[0].index == 2);
}

TEST_CASE("State: a restarted member asks for what its role says now") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(4)).Add(AJob("j").Role("w", 2, OneGpu()).MinMember(1));
  cluster.Tick();
  cluster.Confirm();
  cluster.Add(AJob("j").Role("w", 2, APod().Gpus(2)).MinMember(1));
  cluster.Gone("j/w/1").Tick(1);
  REQUIRE(cluster.plan().decisions.size() == 1);
  CHECK(cluster.plan().dropped.empty());
  CHECK(cluster.plan().decisions[0].placements.at(0).slices.size() == 2);
  CHECK(Row(cluster, "n").free[kGpu] == 1000);
}

TEST_CASE("State: a failed member asks for nothing until it is pending again") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(2)).Add(AJob("j").Role("w", 2, OneGpu()));
  cluster.Tick();
  cluster.Confirm();
  cluster.Task("j", "w", 0, TaskPhase::kFailed);
  CHECK(cluster.Tick(1).decisions.empty());
  CHECK(Row(cluster, "n").free[kGpu] == 1000);
  cluster.Task("j", "w", 0, TaskPhase::kPending).Tick(2);
  CHECK(cluster.Started("j"));
}

TEST_CASE("State: a member that succeeded counts towards the minimum and holds no room") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(2)).Add(AJob("j").Role("w", 2, OneGpu()));
  cluster.Tick();
  cluster.Confirm();
  cluster.Task("j", "w", 0, TaskPhase::kSucceeded);
  CHECK(Row(cluster, "n").free[kGpu] == 1000);
  CHECK(cluster.job("j").satisfied());
  CHECK(cluster.Tick(1).decisions.empty());
  cluster.Gone("j/w/0");  // its pod is cleaned up, its work is done
  CHECK(cluster.Tick(2).decisions.empty());
}

TEST_CASE("State: a releasing member keeps its room and does not count") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(2)).Add(AJob("j").Role("w", 2, OneGpu()));
  cluster.Tick();
  cluster.Confirm();
  cluster.Task("j", "w", 0, TaskPhase::kReleasing, "n", {WholeSlice(0)});
  CHECK(Row(cluster, "n").free[kGpu] == 0);
  CHECK_FALSE(cluster.job("j").satisfied());
}

TEST_CASE("State: a job that is removed leaves what runs in the books until its pods are gone") {
  SmallCluster cluster;
  cluster.Add(AQueue("q").Limit(kGpu, 2000)).Add(ANode("n").Gpus(2));
  cluster.Add(AJob("j").In("q").Role("w", 2, OneGpu()));
  cluster.Tick();
  cluster.Confirm().Tell(JobRemoved{"j"});
  CHECK(Row(cluster, "n").free[kGpu] == 0);
  CHECK(QueueHolds(cluster, "q", kGpu) == 0);
  cluster.Add(AJob("k").In("q").Role("w", 1, OneGpu())).Tick(1);
  CHECK_FALSE(cluster.Started("k"));
  cluster.Gone("j/w/0").Tick(2);
  CHECK(cluster.Started("k"));
  CHECK(Row(cluster, "n").free[kGpu] == 0);
}

TEST_CASE("State: a job removed while it is only assumed, pods known, expires without harm") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(2)).Add(AJob("j").Role("w", 2, OneGpu()));
  cluster.Task("j", "w", 0, TaskPhase::kPending).Task("j", "w", 1, TaskPhase::kPending);
  cluster.Tick(0);
  REQUIRE(cluster.Started("j"));
  cluster.Tell(JobRemoved{"j"});
  CHECK(Row(cluster, "n").free[kGpu] == 0);
  cluster.Tick(30 * kSecondMs);
  CHECK(Row(cluster, "n").free[kGpu] == 2000);
  cluster.Gone("j/w/0").Gone("j/w/1");
  CHECK(cluster.Tick(31 * kSecondMs).decisions.empty());
}

TEST_CASE("State: a pod that outlives its place in its job is known by its uid") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(4)).Add(AJob("j").Role("w", 3, OneGpu()).MinMember(1));
  cluster.Tick();
  cluster.Confirm().Add(AJob("j").Role("w", 1, OneGpu()));
  CHECK(Row(cluster, "n").free[kGpu] == 1000);
  cluster.Task("j", "w", 2, TaskPhase::kSucceeded);
  CHECK(Row(cluster, "n").free[kGpu] == 2000);
  // The role grows again while the pod of index 1 still runs: it takes its place.
  cluster.Add(AJob("j").Role("w", 2, OneGpu()).MinMember(1));
  cluster.Task("j", "w", 1, TaskPhase::kRunning, "n", {WholeSlice(1)});
  CHECK(Row(cluster, "n").free[kGpu] == 2000);
  CHECK(cluster.job("j").counted() == 2);
}

TEST_CASE("State: a role that shrinks drops its pending tasks and lets what runs end") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(2)).Add(AJob("j").Role("w", 4, OneGpu()).MinMember(1));
  cluster.Tick();
  cluster.Confirm().Add(AJob("j").Role("w", 1, OneGpu()));
  CHECK(cluster.job("j").pending() == 0);
  CHECK(cluster.job("j").counted() == 1);
  CHECK(Row(cluster, "n").free[kGpu] == 0);
  cluster.Gone("j/w/1");
  CHECK(Row(cluster, "n").free[kGpu] == 1000);
}

TEST_CASE("State: a role that is no longer named is gone, and may come back") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(4)).Add(AJob("j").Role("a", 1, OneGpu()).Role("b", 1, OneGpu()));
  cluster.Add(AJob("j").Role("b", 1, OneGpu()));
  cluster.Tick();
  CHECK(cluster.Of("j").placements.size() == 1);
  cluster.Confirm().Add(AJob("j").Role("a", 1, OneGpu()).Role("b", 1, OneGpu())).Tick(1);
  REQUIRE(cluster.Of("j").placements.size() == 1);
  CHECK(cluster.Of("j").placements[0].role == "a");
}

TEST_CASE("State: a job that changes its queue takes its usage along") {
  SmallCluster cluster;
  cluster.Add(AQueue("a")).Add(AQueue("b")).Add(ANode("n").Gpus(2));
  cluster.Add(AJob("j").In("a").Role("w", 2, OneGpu()));
  cluster.Tick();
  cluster.Confirm().Add(AJob("j").In("b").Role("w", 2, OneGpu()));
  CHECK(QueueHolds(cluster, "a", kGpu) == 0);
  CHECK(QueueHolds(cluster, "b", kGpu) == 2000);
}

TEST_CASE("State: usage follows a queue that is hung under another") {
  SmallCluster cluster;
  cluster.Add(AQueue("top")).Add(AQueue("q")).Add(ANode("n").Gpus(2));
  cluster.Add(AJob("j").In("q").Role("w", 2, OneGpu()));
  cluster.Tick();
  cluster.Confirm();
  CHECK(QueueHolds(cluster, "top", kGpu) == 0);
  cluster.Add(AQueue("q").Under("top"));
  CHECK(QueueHolds(cluster, "top", kGpu) == 2000);
  cluster.Tell(QueueRemoved{"q"});
  CHECK(QueueHolds(cluster, "top", kGpu) == 0);
  cluster.Add(AQueue("q").Under("top"));
  CHECK(QueueHolds(cluster, "top", kGpu) == 2000);
}

TEST_CASE("State: a version at or below the known one changes nothing") {
  State state;
  const auto apply = [&](const Event& event) { REQUIRE(state.Apply(event).ok()); };
  apply(NodeUpserted{ANode("n").Cores(8), 5});
  apply(NodeUpserted{ANode("n").Cores(4), 5});
  apply(NodeUpserted{ANode("n").Cores(2), 4});
  CHECK(state.books().hardware.total()[kCpu] == 8000);
  apply(QueueUpserted{AQueue("q").Limit(kGpu, 1000), 5});
  apply(QueueUpserted{AQueue("q"), 5});
  CHECK(state.books().queues.spec(state.books().queues.Find("q")).limited_kinds != 0);
  apply(JobUpserted{AJob("j").Role("w", 2, OneGpu()), 5});
  apply(JobUpserted{AJob("j").Role("w", 9, OneGpu()), 4});
  CHECK(state.books().jobs[0].pending() == 2);
  TaskFact fact;
  fact.uid = "p", fact.job = "j", fact.role = "w", fact.phase = TaskPhase::kSucceeded;
  apply(TaskUpserted{fact, 5});
  fact.phase = TaskPhase::kPending;
  apply(TaskUpserted{fact, 5});
  CHECK(state.books().jobs[0].counted() == 1);
  apply(NodeRemoved{"n"});
  apply(NodeUpserted{ANode("n").Cores(4), 1});  // a new node of the old name
  CHECK(state.books().hardware.total()[kCpu] == 4000);
}

TEST_CASE("State: the last domains and disruption budgets are kept, tasks name their budgets") {
  State state;
  const auto apply = [&](const Event& event) { REQUIRE(state.Apply(event).ok()); };
  const Books& books = state.books();
  const DomainSpec rack{"rack", 1, "rack", {"n"}, {}}, row{"rack", 2, "row", {}, {"other"}};
  apply(DomainUpserted{rack, 5});
  apply(DomainUpserted{row, 4});
  CHECK(books.hardware.domain_specs().at("rack") == rack);
  apply(DomainUpserted{row, 6});
  CHECK(books.hardware.domain_specs().at("rack") == row);
  apply(DisruptionBudgetUpserted{"team/b", 2, 5});
  apply(DisruptionBudgetUpserted{"team/b", 1, 5});
  CHECK(books.disruption_budgets.at("team/b") == 2);
  TaskFact fact;
  fact.uid = "p", fact.phase = TaskPhase::kRunning, fact.node = "n", fact.pod = OneGpu();
  fact.disruption_budgets = {"team/b"};
  apply(TaskUpserted{fact, 1});
  CHECK(*books.tasks[0].disruption_budgets == fact.disruption_budgets);
  fact.disruption_budgets = {};
  apply(TaskUpserted{fact, 2});
  CHECK(books.tasks[0].disruption_budgets->empty());
  apply(DomainRemoved{"rack"});
  apply(DisruptionBudgetRemoved{"team/b"});
  CHECK(books.hardware.domain_specs().empty());
  CHECK(books.disruption_budgets.empty());
}

TEST_CASE("State: removing what is not there is no fault") {
  State state;
  CHECK(state.Apply(NodeRemoved{"n"}).ok());
  CHECK(state.Apply(QueueRemoved{"q"}).ok());
  CHECK(state.Apply(JobRemoved{"j"}).ok());
  CHECK(state.Apply(TaskRemoved{"t"}).ok());
  CHECK(state.Apply(PlacementRefused{"j", "w", "n", ""}).ok());
  CHECK(state.Apply(DomainRemoved{"rack"}).ok());
  CHECK(state.Apply(DisruptionBudgetRemoved{"team/b"}).ok());
  CHECK(state.CheckBooks() == "");
}

TEST_CASE("State: a fact that cannot be is refused whole, by name") {
  State state;
  REQUIRE(state.Apply(JobUpserted{AJob("j").Role("w", 1, OneGpu()), 1}).ok());
  const auto refused = [&](const Event& event, const std::string& part) {
    const absl::Status status = state.Apply(event);
    INFO(status.ToString());
    CHECK_FALSE(status.ok());
    CHECK(std::string(status.message()).find(part) != std::string::npos);
    CHECK(state.CheckBooks() == "");
  };
  NodeSpec node = ANode("");
  refused(NodeUpserted{node, 1}, "name");
  node = ANode("n").Cores(-1);
  refused(NodeUpserted{node, 1}, "-1000");
  node = ANode("n").Has(kGpu, 8000);
  refused(NodeUpserted{node, 1}, "derived");
  node = ANode("n").Gpus(1, "A", -5);
  refused(NodeUpserted{node, 1}, "-5");
  node = ANode("n").Gpus(1, "A", kMaxDeviceMib + 1);
  refused(NodeUpserted{node, 1}, "1073741825");
  node = ANode("n").Memory(kMaxAmount + 1);
  refused(NodeUpserted{node, 1}, "allocatable[kind 1]: 1125899906842625");
  node = ANode("n");
  node.devices.resize(kMaxDevices + 1);
  refused(NodeUpserted{node, 1}, "devices: 65536, expected at most 65535");
  refused(QueueUpserted{AQueue("q").Limit(kMemory, kMaxSum + 1), 1}, "limit[kind 1]");
  TaskFact fact;
  refused(TaskUpserted{fact, 1}, "uid");
  fact.uid = "p";
  refused(TaskUpserted{fact, 1}, "pod");
  fact.job = "unknown";
  refused(TaskUpserted{fact, 1}, "unknown");
  fact.job = "j", fact.role = "x";
  refused(TaskUpserted{fact, 1}, "x");
  fact.role = "w", fact.index = 1;
  refused(TaskUpserted{fact, 1}, "index");
  fact.index = -1;
  refused(TaskUpserted{fact, 1}, "index");
  fact.index = 0, fact.phase = TaskPhase::kAssumed;
  refused(TaskUpserted{fact, 1}, "assumed");
  fact.phase = TaskPhase::kAbsent;
  refused(TaskUpserted{fact, 1}, "absent");
  fact.phase = TaskPhase::kRunning;
  refused(TaskUpserted{fact, 1}, "node");
  fact.node = "n", fact.slices = {PartSlice(0, -1, 5)};
  refused(TaskUpserted{fact, 1}, "compute -1");
  fact.slices = {PartSlice(0, 1001, 5)};
  refused(TaskUpserted{fact, 1}, "compute 1001");
  fact.slices = {PartSlice(0, 500, -5)};
  refused(TaskUpserted{fact, 1}, "memory_mib -5");
  fact.slices = {PartSlice(0, 500, kMaxDeviceMib + 1)};
  refused(TaskUpserted{fact, 1}, "memory_mib 1073741825");
  refused(PlacementRefused{"j", "x", "n", ""}, "x");
  refused(JobUpserted{AJob("k").Role("w", 1, OneGpu(), 2), 1}, "min");
  refused(DomainUpserted{{"rack", -1, "", {}, {}}, 1}, "domain \"rack\": tier: -1");
  refused(DisruptionBudgetUpserted{"", 1, 1}, "disruption budget: name: empty");
  refused(DisruptionBudgetUpserted{"team/b", -1, 1}, "disruption budget \"team/b\": allowed: -1");
  CHECK_FALSE(state.FindJob("k").valid());
}

TEST_CASE("State: what was assumed and is not confirmed in time is undone as a whole") {
  EngineConfig config;
  config.assume_timeout_ms = 10;
  SmallCluster cluster(config);
  cluster.Add(ANode("n").Gpus(2)).Add(AJob("j").Role("w", 2, OneGpu()));
  cluster.Tick(0);
  REQUIRE(cluster.Started("j"));
  cluster.Task("j", "w", 0, TaskPhase::kPending);  // its pod exists now, binding under way
  CHECK(Row(cluster, "n").free[kGpu] == 0);
  CHECK(cluster.Tick(9).decisions.empty());
  cluster.Tick(10);
  CHECK(cluster.Started("j"));
  CHECK(cluster.Of("j").placements.size() == 2);
}

TEST_CASE("State: a confirmed member stays when the others' assumption expires") {
  EngineConfig config;
  config.assume_timeout_ms = 10;
  SmallCluster cluster(config);
  cluster.Add(ANode("n").Gpus(2)).Add(AJob("j").Role("w", 2, OneGpu()));
  cluster.Tick(0);
  const NamedPlacement first = cluster.Of("j").placements.at(0);
  cluster.Task("j", "w", first.index, TaskPhase::kRunning, first.node, first.slices);
  cluster.Tick(10);
  REQUIRE(cluster.Started("j"));
  CHECK(cluster.Of("j").placements.size() == 1);
  CHECK(cluster.Of("j").placements[0].index != first.index);
}

TEST_CASE("State: a refusal undoes what was assumed, and lasts until the node changes") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(ANode("b").Gpus(1));
  cluster.Add(AJob("j").Role("w", 1, OneGpu())).Tick();
  CHECK(cluster.Of("j").placements[0].node == "a");
  cluster.Tell(PlacementRefused{"j", "w", "a", "port"}).Tick(1);
  CHECK(cluster.Of("j").placements[0].node == "b");
  cluster.Tell(PlacementRefused{"j", "w", "b", "port"}).Tick(2);
  CHECK(cluster.Of("j").verdict == Verdict::kWait);
  CHECK(cluster.Of("j").reason->nodes[static_cast<int>(Misfit::kRefused)] == 2);
  cluster.Add(ANode("a").Gpus(1).Label("x", "y")).Tick(3);
  CHECK(cluster.Of("j").placements.at(0).node == "a");
}

TEST_CASE("State: a refusal does not stick to a later class that gets the same id") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(AJob("j").Role("w", 1, OneGpu())).Tick();
  cluster.Tell(PlacementRefused{"j", "w", "a", "port"}).Tell(JobRemoved{"j"});
  cluster.Add(AJob("k").Role("w", 1, APod().Gpus(1).Cores(2))).Tick(1);
  CHECK(cluster.Started("k"));
}

TEST_CASE("State: a label or taint that changes is seen although no amount does") {
  SmallCluster cluster;
  cluster.Add(ANode("a")).Add(AJob("j").Role("w", 1, APod().Select("x", "y"))).Tick();
  CHECK(cluster.Of("j").verdict == Verdict::kInfeasible);
  cluster.Add(ANode("a").Label("x", "y").Tainted("t", "")).Tick(1);
  CHECK(cluster.Of("j").verdict == Verdict::kInfeasible);
  cluster.Add(ANode("a").Label("x", "y")).Tick(2);
  CHECK(cluster.Started("j"));
}

TEST_CASE("Engine: a cycle in which only the time moved says nothing") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(1));
  cluster.Add(AJob("a").Role("w", 1, OneGpu())).Add(AJob("b").Role("w", 1, OneGpu())).Tick(0);
  cluster.Confirm();
  for (TimeMs now : {1, 2, 1000000}) CHECK(cluster.Tick(now).decisions.empty());
}

TEST_CASE("Engine: the standing of a job says since when") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(1)).Add(AJob("j").Role("w", 2, OneGpu())).Tick(5);
  CHECK(cluster.job("j").standing.verdict == Verdict::kInfeasible);
  CHECK(cluster.job("j").standing.since == 5);
  cluster.Add(ANode("m")).Tick(9);
  CHECK(cluster.job("j").standing.since == 5);
  cluster.Add(ANode("m").Gpus(1)).Tick(11);
  CHECK(cluster.job("j").standing.verdict == Verdict::kStart);
  CHECK(cluster.job("j").standing.since == 11);
}

}  // namespace
}  // namespace tephra
