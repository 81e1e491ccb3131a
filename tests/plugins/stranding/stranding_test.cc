#include "plugins/stranding/stranding.h"

#include <catch2/catch.hpp>

#include "plugins/registry.h"
#include "tests/support/frozen.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

// One device and 4 cores each.
const std::vector<ExpectedPod> kOnePerDevice = {{4000, 1, 1000, {}, 1}};

Points Rate(const Score& score, Frozen& cluster, const std::string& node, const PodTemplate& pod) {
  return score.Rate(cluster.View(node), MakeTaskClass(pod));
}

TEST_CASE("Stranding: CPU is taken where devices do not need it") {
  const Stranding score(kOnePerDevice, {0});
  Frozen cluster;
  cluster.Add(ANode("scant").Cores(8).Gpus(2)).Add(ANode("ample").Cores(12).Gpus(2));
  CHECK(Rate(score, cluster, "ample", APod().Cores(4)) == kMaxPoints / 2);  // costs nothing
  // 0.9925 of a device: 50 x (1 - 0.9925 / 4.9925) points.
  CHECK(Rate(score, cluster, "scant", APod().Cores(4)) / 1000 == 400);
}

TEST_CASE("Stranding: a share goes to the leftover that no other pod fits") {
  const Stranding score({{0, 1, 500, {}, 0.5}, {0, 1, 200, {}, 0.5}}, {0, 0});
  Frozen cluster;
  cluster.Add(ANode("n").Gpus(3, "A", 0));
  cluster.Foreign("n", APod().Share(500, 0), {PartSlice(0, 500, 0)});
  cluster.Foreign("n", APod().Share(800, 0), {PartSlice(1, 800, 0)});
  const TaskClass cls = MakeTaskClass(APod().Share(200, 0));
  const NodeView view = cluster.View("n");
  const auto rate = [&](int device) {
    return score.RateDevice(view, cls, cls.lasting[0], device, 0);
  };
  CHECK(rate(1) > rate(0));
  CHECK(rate(1) > rate(2));
  CHECK(score.Rate(view, cls) == rate(1));
}

TEST_CASE("Stranding: idle nodes are kept whole") {
  const Stranding score(kOnePerDevice, {0});
  Frozen cluster;
  cluster.Add(ANode("idle").Gpus(8)).Add(ANode("begun").Gpus(8));
  cluster.Foreign("begun", APod().Gpus(3));
  CHECK(Rate(score, cluster, "begun", APod().Gpus(1)) >
        Rate(score, cluster, "idle", APod().Gpus(1)));
}

TEST_CASE("Stranding: room that is scarce for some pods is left to them") {
  const std::vector<ExpectedPod> expected = {
      {4000, 1, 1000, {"A"}, 0.5}, {4000, 1, 1000, {"B"}, 0.1}, {4000, 1, 1000, {}, 0.4}};
  const Stranding score(expected, {1, 0.1, 0.1});
  Frozen cluster;
  for (const char* model : {"A", "B", "C"}) cluster.Add(ANode(model).Cores(16).Gpus(4, model));
  CHECK(Rate(score, cluster, "B", APod().Gpus(1)) > Rate(score, cluster, "A", APod().Gpus(1)));
  // No pod names C, so its futures leave out pods that name other models.
  CHECK(Rate(score, cluster, "C", APod().Gpus(1)) > Rate(score, cluster, "A", APod().Gpus(1)));
}

TEST_CASE("Stranding: the last idle node for large pods is left to them") {
  const Stranding score({{8000, 4, 1000, {}, 0.2}, {2000, 1, 1000, {}, 0.8}}, {0.5, 0});
  Frozen cluster;
  cluster.Add(ANode("large").Cores(32).Gpus(4)).Add(ANode("small").Cores(16).Gpus(2));
  CHECK(Rate(score, cluster, "small", APod().Gpus(1)) >
        Rate(score, cluster, "large", APod().Gpus(1)));
  CHECK(Rate(score, cluster, "small", APod().Cores(8)) >
        Rate(score, cluster, "large", APod().Cores(28)));
}

TEST_CASE("Scarcity: demand over room, times the square of what tied pods request over it") {
  Frozen cluster;
  cluster.Add(ANode("a").Cores(8).Gpus(4, "A")).Add(ANode("b").Cores(8).Gpus(8, "B"));
  cluster.Add(ANode("c").Cores(8).Gpus(4, "C"));
  const Hardware& hardware = cluster.state().books().hardware;
  // Of 16 GPUs 2 are for A alone, 3 for A or B, and 11 for all models.
  const Scarcity scarcity = ScarcityOf(
      {{0, 2, 1000, {"A"}, 0.1}, {0, 1, 1000, {"A", "B"}, 0.3}, {0, 1, 1000, {}, 1.1}}, hardware);
  REQUIRE(scarcity.size() == 3);
  CHECK(scarcity[0] == Approx(0.5 * 0.5 * 0.5));
  CHECK(scarcity[1] == Approx(3.0 / 12 * (5.0 / 12) * (5.0 / 12)));
  CHECK(scarcity[2] == Approx(11.0 / 16));
  CHECK(ScarcityOf({{0, 1, 1000, {"A"}, 1}}, hardware) == Scarcity{1});
  // With 4 cores each, two fit on a node: room for 6 of 16.
  CHECK(ScarcityOf({{4000, 1, 1000, {}, 0.25}, {0, 1, 1000, {}, 0.75}}, hardware)[0] ==
        Approx(4.0 / 6));
  CHECK(ScarcityOf({{0, 1, 1000, {"X"}, 0.5}, {0, 1, 1000, {}, 0.5}}, hardware) ==
        Scarcity{0, 0.125});
  CHECK(ScarcityOf({{1000, 0, 0, {}, 1}}, hardware) == Scarcity{0});
  CHECK(ScarcityOf({}, hardware).empty());
}

TEST_CASE("Scarcity: one more of many equal nodes seldom changes it") {
  Frozen cluster;
  const std::vector<ExpectedPod> expected = {{0, 1, 1000, {"A"}, 0.1}, {0, 1, 1000, {}, 0.9}};
  for (int i = 0; i < 40; ++i) {
    cluster.Add(ANode("a" + std::to_string(i)).Gpus(1, "A"));
    cluster.Add(ANode("b" + std::to_string(i)).Gpus(2, "B"));
  }
  const Scarcity before = ScarcityOf(expected, cluster.state().books().hardware);
  cluster.Add(ANode("one").Gpus(1, "A"));
  CHECK(ScarcityOf(expected, cluster.state().books().hardware) == before);
  for (int i = 0; i < 3; ++i) cluster.Add(ANode("more" + std::to_string(i)).Gpus(1, "A"));
  CHECK(ScarcityOf(expected, cluster.state().books().hardware) != before);
}

TEST_CASE("Scarcity: a new score is made only when hardware changes the scarcity") {
  const Assembly assembly = DefaultAssembly();
  EngineConfig config;
  config.node_scores = config.device_scores = {{"stranding", 1}};
  config.expected_pods = {{4000, 1, 1000, {"A"}, 0.5}, {4000, 1, 1000, {}, 0.5}};
  Frozen cluster;
  cluster.Add(ANode("a").Gpus(8, "A")).Add(ANode("b").Gpus(8, "B"));
  const Books& books = cluster.state().books();
  const auto first = assembly.score(config, books, nullptr);
  CHECK(assembly.score(config, books, first) == first);
  cluster.Add(ANode("cpu"));
  CHECK(assembly.score(config, books, first) == first);
  cluster.Add(ANode("more").Gpus(16, "A"));
  CHECK(assembly.score(config, books, first) != first);
}

TEST_CASE("Scarcity: a change rates unchanged nodes again") {
  EngineConfig config;
  config.node_scores = config.device_scores = {{"stranding", 1}};
  config.expected_pods = {{0, 1, 1000, {"A"}, 0.2}, {0, 1, 1000, {}, 0.8}};
  for (const bool more : {false, true}) {
    SmallCluster cluster(config);
    for (const char* name : {"b", "other"}) cluster.Add(ANode(name).Gpus(2, "B"));
    cluster.Add(ANode("a").Gpus(2, "A")).Add(ANode("c").Gpus(80, "C").Cordoned());
    // So many that the few changes below do not cause a new rating of all nodes.
    for (int i = 0; i < 100; ++i) cluster.Add(ANode("z" + std::to_string(i)));
    cluster.Foreign("there", "a", APod().Gpus(1), {WholeSlice(0)});
    cluster.Add(AJob("first").Role("w", 2, APod().Gpus(1))).Tick();  // rates all, fills node b
    // With 2 GPUs of 86 A is scarce enough to break the other node of B instead; with 82 it is not.
    if (more) cluster.Add(ANode("c").Gpus(80, "A").Cordoned());
    cluster.Add(AJob("small").Role("w", 1, APod().Gpus(1))).Tick(1);
    REQUIRE(cluster.Started("small"));
    CHECK(cluster.Of("small").placements[0].node == (more ? "a" : "other"));
  }
}

TEST_CASE("Stranding: of a slice of memory the device's lesser remainder counts") {
  const Stranding score({{0, 1, 500, {}, 0.5}, {0, 1, 1000, {}, 0.5}}, {0, 0});
  Frozen cluster;
  cluster.Add(ANode("n").Gpus(2, "A", 16000));
  cluster.Foreign("n", APod().Share(500, 0), {PartSlice(0, 500, 0)});
  const TaskClass cls = MakeTaskClass(APod().Share(0, 8000));
  const NodeView view = cluster.View("n");
  // Half of the memory of a half used device: the other half keeps its room.
  CHECK(score.RateDevice(view, cls, cls.lasting[0], 0, 0) >
        score.RateDevice(view, cls, cls.lasting[0], 1, 0));
}

TEST_CASE("Stranding: several containers are placed one after the other") {
  const Stranding score(kOnePerDevice, {0});
  Frozen cluster;
  cluster.Add(ANode("n").Cores(32).Gpus(4));
  const Points two = Rate(score, cluster, "n", APod().Gpus(2));
  CHECK(Rate(score, cluster, "n", APod().Gpus(1).And(ContainerKind::kApp).Gpus(1)) == two);
}

}  // namespace
}  // namespace tephra
