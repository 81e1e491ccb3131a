// How State keeps nodes, devices, kinds and foreign pods.
#include "engine/state.h"

#include <catch2/catch.hpp>

#include "tests/engine/state_rows.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

TEST_CASE("State: a node that goes takes its tasks' room out of the books, and brings it back") {
  SmallCluster cluster;
  const NodeSpec node = ANode("n").Gpus(2);
  cluster.Add(AQueue("q")).Add(node).Add(AJob("j").In("q").Role("w", 2, OneGpu()));
  cluster.Tick();
  cluster.Confirm();
  CHECK(QueueHolds(cluster, "q", kGpu) == 2000);
  cluster.Tell(NodeRemoved{"n"});
  CHECK(QueueHolds(cluster, "q", kGpu) == 0);
  CHECK(cluster.books().occupancy.free_total()[kGpu] == 0);
  cluster.Add(node);
  CHECK(QueueHolds(cluster, "q", kGpu) == 2000);
  CHECK(Row(cluster, "n").free[kGpu] == 0);
  cluster.Gone("j/w/0").Gone("j/w/1");
  CHECK(Row(cluster, "n").free[kGpu] == 2000);
}

TEST_CASE("State: a pod bound to a node that is not known yet is counted when it comes") {
  SmallCluster cluster;
  cluster.Foreign("p", "n", OneGpu(), {WholeSlice(1)});
  cluster.Add(ANode("n").Gpus(2));
  CHECK(Row(cluster, "n").free[kGpu] == 1000);
  CHECK(cluster.books()
            .occupancy.View(cluster.books().hardware, cluster.books().hardware.Find("n"))
            .devices[1]
            .users() == 1);
}

TEST_CASE("State: devices that come and go under running tasks keep the books exact") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(2)).Add(ANode("m").Gpus(2));
  cluster.Foreign("p", "n", OneGpu(), {WholeSlice(1)});
  cluster.Add(ANode("n").Gpus(4));
  CHECK(Row(cluster, "n").free[kGpu] == 3000);
  cluster.Add(ANode("n").Gpus(1));
  CHECK(Row(cluster, "n").free[kGpu] == 1000);
  cluster.Add(ANode("n").Gpus(2).Unhealthy(1));
  CHECK(Row(cluster, "n").free[kGpu] == 1000);
  cluster.Add(ANode("n").Gpus(2)).Gone("p");
  CHECK(Row(cluster, "n").free[kGpu] == 2000);
}

TEST_CASE("State: an amount of an undeclared kind is refused") {
  State state;
  const auto refused = [&](const Event& event) {
    const absl::Status status = state.Apply(event);
    INFO(status.ToString());
    CHECK(std::string(status.message()).find("resource kind 6: not declared") != std::string::npos);
  };
  REQUIRE(state.Apply(KindsDeclared{{"a"}}).ok());
  refused(NodeUpserted{ANode("n").Has(6, 1), 1});
  refused(QueueUpserted{AQueue("q").Limit(6, 0), 1});
  refused(JobUpserted{AJob("j").Role("w", 1, APod().Needs(6, 1)), 1});
  TaskFact fact;
  fact.uid = "p", fact.phase = TaskPhase::kRunning, fact.node = "n";
  fact.pod = APod().Needs(6, 1);
  refused(TaskUpserted{fact, 1});
  REQUIRE(state.Apply(KindsDeclared{{"a", "b"}}).ok());
  CHECK(state.Apply(NodeUpserted{ANode("n").Has(6, 1), 1}).ok());
}

TEST_CASE("State: kinds are numbered as declared, and never renumbered") {
  State state;
  REQUIRE(state.Apply(KindsDeclared{{"a", "b"}}).ok());
  REQUIRE(state.Apply(KindsDeclared{{"a", "b", "c"}}).ok());
  CHECK_FALSE(state.Apply(KindsDeclared{{"b", "a"}}).ok());
  CHECK(state.books().kinds.Name(kFirstExtendedKind + 2) == "c");
  std::vector<std::string> many;
  for (int i = 0; i < 12; ++i) many.push_back("k" + std::to_string(i));
  CHECK_FALSE(state.Apply(KindsDeclared{many}).ok());
}

// What is free and held of A100s, in GPUs: of one node, in all, by the queue, asked for.
std::string OfA100(SmallCluster& cluster) {
  const Books& books = cluster.books();
  const Kind a100 = books.kinds.models().at("A100");
  const auto words = [&](std::int64_t amount) { return AmountText(books.kinds, a100, amount); };
  return words(Row(cluster, "n").free[a100]) + ", " + words(books.occupancy.free_total()[a100]) +
         ", " + words(QueueHolds(cluster, "default", a100)) + ", " +
         words(books.queue_pending[books.queues.Find("default").index()].amount[a100]);
}

TEST_CASE("State: a GPU model that a queue names late is counted as if it had been named first") {
  const KindsDeclared models{{"gpu.A100"}};
  const auto live = [&](bool early) {
    SmallCluster cluster;
    if (early) cluster.Tell(models);
    cluster.Add(ANode("n").Gpus(2, "A100").Gpus(2, "H100")).Add(ANode("o").Gpus(4, "A100"));
    cluster.Add(AJob("named").Role("w", 1, APod().Share(500, 0).Models({"A100"})));
    cluster.Add(AJob("any").Role("w", 1, APod().Gpus(4)));
    cluster.Tick();
    cluster.Confirm();
    cluster.Add(AJob("waits").Role("w", 3, APod().Gpus(1).Models({"A100"})));
    if (!early) cluster.Tell(models);
    CHECK(cluster.engine().state().CheckBooks() == "");
    return OfA100(cluster);
  };
  const std::string early = live(true);
  CHECK(early == live(false));
  CHECK(early == "0 A100 GPUs, 3.5 A100 GPUs, 2.5 A100 GPUs, 3 A100 GPUs");
}

TEST_CASE("State: a model's GPUs follow the devices that come, go and fail") {
  SmallCluster cluster;
  cluster.Tell(KindsDeclared{{"gpu.A100"}}).Add(ANode("n").Gpus(2, "A100"));
  cluster.Add(AJob("j").Role("w", 1, APod().Gpus(1).Models({"A100"})));
  cluster.Tick();
  cluster.Confirm();
  CHECK(OfA100(cluster) == "1 A100 GPU, 1 A100 GPU, 1 A100 GPU, 0 A100 GPUs");
  cluster.Add(ANode("n").Gpus(4, "A100").Unhealthy(3));
  CHECK(OfA100(cluster) == "2 A100 GPUs, 2 A100 GPUs, 1 A100 GPU, 0 A100 GPUs");
  cluster.Add(ANode("n").Gpus(2, "H100").Gpus(1, "A100"));
  CHECK(OfA100(cluster) == "1 A100 GPU, 1 A100 GPU, 0 A100 GPUs, 0 A100 GPUs");
  cluster.Tell(NodeRemoved{"n"});
  CHECK(cluster.books().occupancy.free_total()[kFirstExtendedKind] == 0);
  CHECK(cluster.engine().state().CheckBooks() == "");
}

TEST_CASE("State: GPUs of a model come only from devices and their models") {
  State state;
  REQUIRE(state.Apply(KindsDeclared{{"gpu.A100"}}).ok());
  const absl::Status node = state.Apply(NodeUpserted{ANode("n").Has(kFirstExtendedKind, 1), 1});
  CHECK(node.message() ==
        "node \"n\": resource kind gpu.A100: expected none, it is derived from devices and their "
        "models");
  const absl::Status job =
      state.Apply(JobUpserted{AJob("j").Role("w", 1, APod().Needs(kFirstExtendedKind, 1)), 1});
  CHECK(job.message().find("job \"j\": resource kind gpu.A100") == 0);
  CHECK(state.Apply(KindsDeclared{{"gpu.A100", "gpu."}}).message().find("names no GPU model") !=
        std::string::npos);
}

TEST_CASE("State: a running task without known slices gets the lowest free devices") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(4));
  cluster.Foreign("a", "n", OneGpu(), {WholeSlice(1)});
  cluster.Foreign("b", "n", APod().Gpus(2));
  const NodeView view =
      cluster.books().occupancy.View(cluster.books().hardware, cluster.books().hardware.Find("n"));
  CHECK(view.devices[0].users() == 1);
  CHECK(view.devices[2].users() == 1);
  CHECK(view.devices[3].users() == 0);
}

TEST_CASE("State: pods that come before their node, or its devices, get the lowest free ones then") {
  SmallCluster cluster;
  cluster.Foreign("b", "n", APod().Gpus(2));
  cluster.Foreign("a", "n", OneGpu())
      .Foreign("c", "n", APod().Share(500, 0), {PartSlice(1, 500, 0)});
  cluster.Add(ANode("n"));
  CHECK(Row(cluster, "n").free[kGpu] == 0);
  cluster.Add(ANode("n").Gpus(4));
  const NodeView view =
      cluster.books().occupancy.View(cluster.books().hardware, cluster.books().hardware.Find("n"));
  for (int d = 0; d < 4; ++d) CHECK(view.devices[static_cast<std::size_t>(d)].users() == 1);
  CHECK(view.devices[1].free_compute == 500);  // known, so not given to a or b
  cluster.Gone("b");
  CHECK(Row(cluster, "n").free[kGpu] == 2500);
}

TEST_CASE("State: slices of foreign pods as large as they may be overflow no sum") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(1, "A", kMaxDeviceMib));
  for (int i = 0; i < 9; ++i) {
    cluster.Foreign("p" + std::to_string(i), "n", APod().Share(100, kMaxDeviceMib),
                    {PartSlice(0, 100, kMaxDeviceMib), PartSlice(0, 100, kMaxDeviceMib)});
  }
  const NodeView view =
      cluster.books().occupancy.View(cluster.books().hardware, cluster.books().hardware.Find("n"));
  CHECK(view.devices[0].free_memory_mib == -17 * std::int64_t{kMaxDeviceMib});
}

TEST_CASE("State: foreign pods over-commit and release exactly") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Cores(4).Gpus(2));
  const NodeRow before = Row(cluster, "n");
  cluster.Foreign("a", "n", APod().Cores(6).Share(700, 0), {PartSlice(0, 700, 0)});
  cluster.Foreign("b", "n", APod().Cores(6).Share(700, 0), {PartSlice(0, 700, 0)});
  CHECK(Row(cluster, "n").free[kCpu] == -8000);
  CHECK(Row(cluster, "n").free[kGpu] == 1000);
  cluster.Gone("a");
  CHECK(Row(cluster, "n").free[kCpu] == -2000);
  CHECK(Row(cluster, "n").free[kGpu] == 1300);
  cluster.Gone("b");
  CHECK(Row(cluster, "n").free == before.free);
}

TEST_CASE("State: a foreign pod that is resized is charged what it holds now") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Cores(8));
  cluster.Foreign("a", "n", APod().Cores(2));
  cluster.Foreign("a", "n", APod().Cores(5).AtMost(1, "port", "rack"));
  CHECK(Row(cluster, "n").free[kCpu] == 3000);
  cluster.Gone("a");
  CHECK(Row(cluster, "n").free[kCpu] == 8000);
}

}  // namespace
}  // namespace tephra
