// SliceFit and SliceSearch: which devices serve a pod.
#include "plugins/vgpu/slice_fit.h"

#include <set>

#include <catch2/catch.hpp>

#include "plugins/vgpu/slice_search.h"
#include "tests/support/frozen.h"
#include "tests/support/mirror.h"
#include "tests/support/random_case.h"
#include "tests/support/sanitized.h"

namespace tephra {
namespace {

// Prefers high device numbers, so that a preference shows.
class LastDevice final : public Score {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override { return 0; }
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int device,
                    std::uint64_t) const override {
    return device;
  }
};

class AnyDevice final : public Score {
 public:
  Points Rate(const NodeView&, const TaskClass&) const override { return 0; }
  Points RateDevice(const NodeView&, const TaskClass&, const DeviceAsk&, int,
                    std::uint64_t) const override {
    return 0;
  }
};

struct Bench {
  LastDevice score;
  AnyDevice no_preference;
  SliceFit fit{score};
  SliceFit by_links{no_preference};
  Frozen cluster;

  Fit::Answer Check(const PodTemplate& pod, std::int32_t room = 100) {
    return fit.Check(cluster.View("n"), MakeTaskClass(pod), room);
  }
  Slices Choose(const PodTemplate& pod) {
    return fit.Choose(cluster.View("n"), MakeTaskClass(pod), 0);
  }
  std::size_t Options(const PodTemplate& pod) {
    return fit.Options(cluster.View("n"), MakeTaskClass(pod)).size();
  }
  std::int32_t Copies(const PodTemplate& pod, std::int32_t room = 100) {
    return fit.Copies(cluster.View("n"), MakeTaskClass(pod), room);
  }
};

TEST_CASE("SliceFit: the first thing missing is named") {
  Bench bench;
  bench.cluster.Add(ANode("n").Cores(4).Gpus(2, "A", 16000));
  CHECK(bench.Check(APod().Gpus(2).Cores(4)).misfit == Misfit::kFits);
  CHECK(bench.Check(APod().Gpus(2).Cores(4)).deficit == 0);
  CHECK(bench.Check(APod().Cores(5)).misfit == Misfit::kResource);
  CHECK(bench.Check(APod().Gpus(3)).misfit == Misfit::kGpu);
  CHECK(bench.Check(APod().Cores(1), 0).misfit == Misfit::kLimit);
  CHECK(bench.Check(APod().Share(500, 17000)).misfit == Misfit::kFragmented);
  CHECK(bench.Check(APod().Share(500, 33000)).misfit == Misfit::kGpu);
}

TEST_CASE("SliceFit: the nearer a node comes the smaller its deficit") {
  Bench bench;
  bench.cluster.Add(ANode("n").Cores(4));
  CHECK(bench.Check(APod().Cores(5)).deficit == 200);  // 1 of 5 is missing
  CHECK(bench.Check(APod().Cores(8)).deficit == 500);
  CHECK(bench.Check(APod().Cores(5).Gpus(1)).deficit == 1200);
}

TEST_CASE("SliceFit: devices are chosen by score, the lowest of equal ones") {
  Bench bench;
  bench.cluster.Add(ANode("n").Gpus(4, "A", 16000));
  CHECK(bench.Choose(APod().Gpus(2)) == Slices{WholeSlice(3, 16000), WholeSlice(2, 16000)});
  CHECK(bench.Choose(APod().Share(250, 100)) == Slices{PartSlice(3, 250, 100)});
  CHECK(bench.Choose(APod().Cores(1)).empty());
}

// Devices 0 and 2, and 1 and 3, are each under one PCIe switch.
NodeSpec LinkedNode() {
  NodeSpec node = ANode("n").Gpus(4, "A", 16000);
  node.gpu_links = NodeLinks(4);
  node.gpu_links.Set(0, 2, PcieLink(LinkType::kPix));
  node.gpu_links.Set(1, 3, PcieLink(LinkType::kPix));
  return node;
}

TEST_CASE("SliceFit: whole devices are chosen by their links where the score likes all alike") {
  Bench bench;
  bench.cluster.Add(LinkedNode());
  const auto choose = [&](const SliceFit& fit, const PodTemplate& pod) {
    return fit.Choose(bench.cluster.View("n"), MakeTaskClass(pod), 0);
  };
  const Slices pair = {WholeSlice(0, 16000), WholeSlice(2, 16000)};
  CHECK(choose(bench.by_links, APod().Gpus(2)) == pair);
  CHECK(bench.by_links.Options(bench.cluster.View("n"), MakeTaskClass(APod().Gpus(2))) ==
        std::vector<Slices>{pair});
  CHECK(choose(bench.fit, APod().Gpus(2)) == Slices{WholeSlice(3, 16000), WholeSlice(2, 16000)});
  CHECK(choose(bench.by_links, APod().Share(250, 100, 2)) ==
        Slices{PartSlice(0, 250, 100), PartSlice(1, 250, 100)});
  bench.cluster.Foreign("n", APod().Gpus(1), {WholeSlice(2, 16000)});
  CHECK(choose(bench.by_links, APod().Gpus(1)) == Slices{WholeSlice(0, 16000)});
  CHECK(choose(bench.by_links, APod().Gpus(2)) ==
        Slices{WholeSlice(1, 16000), WholeSlice(3, 16000)});
}

TEST_CASE("SliceFit: a node that comes back with other links is served by those") {
  Bench bench;
  NodeSpec node = LinkedNode();
  bench.cluster.Add(node);
  node.gpu_links.Set(0, 1, NvLink(2, "A"));
  bench.cluster.Add(node);
  const TaskClass cls = MakeTaskClass(APod().Gpus(2));
  CHECK(bench.by_links.Choose(bench.cluster.View("n"), cls, 0) ==
        Slices{WholeSlice(0, 16000), WholeSlice(1, 16000)});
  node.gpu_links = NodeLinks();
  bench.cluster.Add(node);
  CHECK(bench.cluster.View("n").gpu_sets == nullptr);
  CHECK(bench.by_links.Choose(bench.cluster.View("n"), cls, 0).size() == 2);
}

TEST_CASE("SliceFit: a device in use is no whole one, and still has a share to give") {
  Bench bench;
  bench.cluster.Add(ANode("n").Gpus(2, "A", 16000))
      .Foreign("n", APod().Share(100, 0), {PartSlice(1, 100, 0)});
  CHECK(bench.Choose(APod().Gpus(1)) == Slices{WholeSlice(0, 16000)});
  CHECK(bench.Choose(APod().Share(900, 0)) == Slices{PartSlice(1, 900, 0)});
  CHECK(bench.Check(APod().Gpus(2)).misfit == Misfit::kGpu);
  CHECK(bench.Check(APod().Share(950, 0, 2)).misfit != Misfit::kFits);
}

TEST_CASE("SliceFit: a memory slice needs a device that is not held whole") {
  Bench bench;
  bench.cluster.Add(ANode("n").Gpus(2, "A", 16000))
      .Foreign("n", APod().Gpus(1), {WholeSlice(1, 16000)});
  CHECK(bench.Choose(APod().Share(0, 16000)) == Slices{PartSlice(0, 0, 16000)});
}

TEST_CASE("SliceFit: an init container takes what the pod holds anyway") {
  Bench bench;
  bench.cluster.Add(ANode("n").Gpus(1, "A", 16000));
  const PodTemplate pod = APod().As(ContainerKind::kInit).Gpus(1).And(ContainerKind::kApp).Gpus(1);
  CHECK(bench.Check(pod).misfit == Misfit::kFits);
  CHECK(bench.Choose(pod).size() == 2);
  // Beside a sidecar that started before it the init container needs a device of its own.
  const PodTemplate beside =
      APod().As(ContainerKind::kSidecar).Share(100, 0).And(ContainerKind::kInit).Gpus(1);
  CHECK(bench.Check(beside).misfit != Misfit::kFits);
}

TEST_CASE("SliceFit: copies of one ask are exact") {
  Bench bench;
  bench.cluster.Add(ANode("n").Cores(64).Gpus(3, "A", 16000));
  CHECK(bench.Copies(APod().Gpus(1)) == 3);
  CHECK(bench.Copies(APod().Gpus(2)) == 1);
  CHECK(bench.Copies(APod().Share(300, 0)) == 9);
  CHECK(bench.Copies(APod().Share(300, 8000)) == 6);
  CHECK(bench.Copies(APod().Share(500, 0, 2)) == 3);  // 6 halves, two of different devices each
  CHECK(bench.Copies(APod().Share(500, 0, 3)) == 2);
  CHECK(bench.Copies(APod().Cores(20)) == 3);
  CHECK(bench.Copies(APod().Cores(20), 2) == 2);
  CHECK(bench.Copies(APod().Cores(20), -1) == 0);
}

TEST_CASE("SliceFit: options are one for each way that differs") {
  Bench bench;
  bench.cluster.Add(ANode("n").Gpus(4, "A", 16000));
  CHECK(bench.Options(APod().Cores(1)) == 1);
  CHECK(bench.Options(APod().Gpus(2)) == 1);
  CHECK(bench.Options(APod().Gpus(5)) == 0);
  bench.cluster.Foreign("n", APod().Share(100, 0), {PartSlice(0, 100, 0)});
  CHECK(bench.Options(APod().Share(200, 0)) == 2);  // the begun device, or a fresh one
  CHECK(bench.Options(APod().Gpus(1)) == 1);
}

constexpr std::uint64_t kNodes = 4000 / kSlowdown;

NodeLinks RandomLinks(std::uint64_t seed, const NodeSpec& node) {
  Dice dice(Mix(seed, 1));
  NodeLinks links(static_cast<int>(node.devices.size()));
  for (int a = 0; a < links.gpus(); ++a) {
    for (int b = 0; b < a; ++b) {
      links.Set(a, b, PcieLink(dice.Percent(50) ? LinkType::kSys : LinkType::kPix));
    }
  }
  return links;
}

// What the oracle finds is what Check says; each option is one that the oracle allows, and they
// leave as many different states as the oracle knows.
TEST_CASE("SliceFit: Check, Choose, Options and Copies agree with the oracle on random nodes") {
  for (std::uint64_t seed = 1; seed <= kNodes; ++seed) {
    Dice dice(seed);
    CaseSize size{.devices = 4, .intricate = dice.Percent(60)};
    Bench bench;
    Mirror mirror;
    const auto tell = [&](const Event& event) {
      bench.cluster.Tell(event);
      mirror.Apply(event);
    };
    tell(KindsDeclared{{"example.com/nic"}});
    NodeSpec node = RandomNode(dice, "n", size);
    node.taints.clear();
    node.unschedulable = false;
    if (seed % 2 == 0) node.gpu_links = RandomLinks(seed, node);
    const SliceFit& fit = seed % 2 == 0 ? bench.by_links : bench.fit;
    tell(NodeUpserted{node, 1});
    for (int f = dice.Below(4); f > 0; --f) {
      tell(TaskUpserted{RandomForeign(dice, "f" + std::to_string(f), node, size), 1});
    }
    REQUIRE(bench.cluster.applied_ok());
    PodTemplate pod = RandomPod(dice, size);
    pod.constraints.selector.clear();
    pod.constraints.mask.clear();
    pod.limits.clear();
    const TaskClass cls = MakeTaskClass(pod);
    const NodeView view = bench.cluster.View("n");
    Room room = mirror.Now();
    INFO("seed " << seed);
    if (CheckNode(node, pod.constraints, cls.needs_devices()) != Ineligible::kNo) continue;
    const std::size_t ways = room.WaysOn(pod, "n");
    const Fit::Answer answer = fit.Check(view, cls, 100);
    REQUIRE((answer.misfit == Misfit::kFits) == (ways > 0));
    REQUIRE((answer.deficit > 0) == (ways == 0));
    if (ways == 0) {
      REQUIRE(fit.Copies(view, cls, 100) >= 0);
      continue;
    }
    REQUIRE(room.Refuses(pod, "n", fit.Choose(view, cls, seed)) == "");
    std::set<std::string> states;
    for (const Slices& slices : fit.Options(view, cls)) {
      REQUIRE(room.Refuses(pod, "n", slices) == "");
      Room after = room;
      after.Take(pod, "n", slices);
      states.insert(after.DevicesText("n"));
    }
    REQUIRE(states.size() == ways);
    // So many fit one after the other: never more than Copies says.
    std::int32_t placed = 0;
    for (; placed < 50 && room.AnyPlacement({{{pod, placed + 1, placed + 1}}, placed + 1});
         ++placed) {
      if (placed > 4) break;
    }
    REQUIRE(fit.Copies(view, cls, 100) >= placed);
    if ((cls.single_ask() || !cls.needs_devices()) && placed <= 4) {
      REQUIRE(fit.Copies(view, cls, 100) == placed);
    }
  }
}

}  // namespace
}  // namespace tephra
