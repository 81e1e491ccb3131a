#include "plugins/packing/packing.h"

#include <catch2/catch.hpp>

#include "tests/support/frozen.h"

namespace tephra {
namespace {

TEST_CASE("Binpack: fullness after the task, GPUs ten times as heavy as the rest") {
  Frozen cluster;
  cluster.Add(ANode("n").Cores(10).Memory(100 * kGiB).Gpus(4, "A", 16000));
  const TaskClass cls = MakeTaskClass(APod().Gpus(2).Cores(1));
  // GPU 2 of 4 = 50 points, CPU 1 of 10 = 10 points: (10 x 50 + 1 x 10) / 11 = 46.3636 points.
  CHECK(Binpack().Rate(cluster.View("n"), cls) == 463636);
  CHECK(Spread().Rate(cluster.View("n"), cls) == kMaxPoints - 463636);
}

TEST_CASE("Binpack: the fuller node rates higher, Spread says the opposite") {
  Frozen cluster;
  cluster.Add(ANode("full").Gpus(8)).Add(ANode("empty").Gpus(8));
  cluster.Foreign("full", APod().Gpus(4));
  const TaskClass cls = MakeTaskClass(APod().Gpus(1));
  CHECK(Binpack().Rate(cluster.View("full"), cls) > Binpack().Rate(cluster.View("empty"), cls));
  CHECK(Spread().Rate(cluster.View("full"), cls) < Spread().Rate(cluster.View("empty"), cls));
}

TEST_CASE("Binpack: work without GPUs rates any node without free GPUs above any with") {
  Frozen cluster;
  cluster.Add(ANode("gpu").Cores(8).Gpus(8)).Add(ANode("cpu").Cores(128));
  cluster.Foreign("gpu", APod().Cores(7));
  const TaskClass cls = MakeTaskClass(APod().Cores(1));
  CHECK(Binpack().Rate(cluster.View("cpu"), cls) > Binpack().Rate(cluster.View("gpu"), cls));
}

TEST_CASE("Binpack: on devices the fuller one, in compute and memory alike") {
  Frozen cluster;
  cluster.Add(ANode("n").Gpus(3, "A", 16000));
  cluster.Foreign("n", APod().Share(500, 0), {PartSlice(1, 500, 0)});
  cluster.Foreign("n", APod().Share(0, 12000), {PartSlice(2, 0, 12000)});
  const TaskClass cls = MakeTaskClass(APod().Share(100, 0));
  const NodeView view = cluster.View("n");
  const auto rate = [&](int device) {
    return Binpack().RateDevice(view, cls, cls.lasting[0], device, 0);
  };
  CHECK(rate(0) == 0);
  CHECK(rate(1) == kMaxPoints / 4);      // half of the half that compute is worth
  CHECK(rate(2) == kMaxPoints * 3 / 8);  // three quarters of the half that memory is worth
  CHECK(Spread().RateDevice(view, cls, cls.lasting[0], 2, 0) == kMaxPoints - rate(2));
}

TEST_CASE("Binpack: the largest amounts do not overflow") {
  Frozen cluster;
  cluster.Add(ANode("n").Memory(kMaxAmount));
  const TaskClass cls = MakeTaskClass(APod().Memory(kMaxAmount / 2));
  CHECK(Binpack().Rate(cluster.View("n"), cls) == kMaxPoints / 2 + kMaxPoints / 4);
}

}  // namespace
}  // namespace tephra
