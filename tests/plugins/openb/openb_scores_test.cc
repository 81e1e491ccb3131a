// The published formulas, worked by hand.
#include "plugins/openb/openb_scores.h"

#include <catch2/catch.hpp>

#include "plugins/openb/fgd.h"
#include "tests/support/frozen.h"

namespace tephra {
namespace {

// The largest node of the trace, with so many milli-GPUs free on each device.
Frozen TraceNode(const std::vector<int>& free) {
  Frozen cluster;
  cluster.Add(ANode("n").Cores(128).Gpus(static_cast<int>(free.size()), "A", 0));
  for (std::size_t d = 0; d < free.size(); ++d) {
    const int used = 1000 - free[d];
    if (used == 0) continue;
    const auto device = static_cast<std::uint16_t>(d);
    cluster.Foreign("n",
                    used == 1000 ? PodTemplate(APod().Gpus(1)) : PodTemplate(APod().Share(used, 0)),
                    {used == 1000 ? WholeSlice(device, 0) : PartSlice(device, used, 0)});
  }
  return cluster;
}

TEST_CASE(
    "DotProd: whole points of 100 x (1 - mean of free x asked, in parts of the largest node)") {
  Frozen cluster = TraceNode({1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000});
  // CPU 1 x 32/128 = 0.25, GPU 1 x 4/8 = 0.5: 100 x (1 - 0.375) = 62.5, cut to 62.
  CHECK(DotProduct().Rate(cluster.View("n"), MakeTaskClass(APod().Cores(32).Gpus(4))) ==
        62 * kPoint);
}

TEST_CASE("BestFit: whole points of 100 x (1 - mean of what is left)") {
  Frozen cluster = TraceNode({1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000});
  // Left: CPU 96/128 = 0.75, GPU 4/8 = 0.5: 100 x (1 - 0.625) = 37.5, cut to 37.
  CHECK(BestFit().Rate(cluster.View("n"), MakeTaskClass(APod().Cores(32).Gpus(4))) == 37 * kPoint);
}

TEST_CASE("GpuClustering: 25 for what is taken, and more where pods of the size run") {
  const TaskClass half = MakeTaskClass(APod().Share(500, 0)), two = MakeTaskClass(APod().Gpus(2));
  Frozen empty = TraceNode({1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000});
  CHECK(GpuClustering().Rate(empty.View("n"), half) == 25 * kPoint);  // 0 + 25: the node is empty
  Frozen same = TraceNode({500, 1000, 1000, 1000, 1000, 1000, 1000, 1000});
  // 25 x 500 / 8000 = 1 in whole points; only that size runs: + 75.
  CHECK(GpuClustering().Rate(same.View("n"), half) == 76 * kPoint);
  CHECK(GpuClustering().Rate(same.View("n"), two) == 1 * kPoint);
  CHECK(GpuClustering().Rate(same.View("n"), MakeTaskClass(APod().Cores(1))) == 0);
}

TEST_CASE("GpuPacking: begun devices before idle ones of a begun node before idle nodes") {
  const TaskClass half = MakeTaskClass(APod().Share(500, 0)), one = MakeTaskClass(APod().Gpus(1));
  Frozen idle = TraceNode({1000, 1000, 1000, 1000});
  CHECK(GpuPacking().Rate(idle.View("n"), one) == 29 * kPoint);  // 33 - 4
  Frozen begun = TraceNode({1000, 600, 1000, 1000});
  CHECK(GpuPacking().Rate(begun.View("n"), one) == 49 * kPoint);   // 50 - 1 idle device
  CHECK(GpuPacking().Rate(begun.View("n"), half) == 94 * kPoint);  // 100 - 60 / 10
}

TEST_CASE("TightestDevice: the less is free on a device the better") {
  Frozen cluster = TraceNode({1000, 300, 600});
  const TaskClass cls = MakeTaskClass(APod().Share(200, 0));
  const BestFit score;
  const auto rate = [&](int device) {
    return score.RateDevice(cluster.View("n"), cls, cls.lasting[0], device, 0);
  };
  CHECK(rate(1) > rate(2));
  CHECK(rate(2) > rate(0));
}

double FragmentOf(const FragmentTable& table, std::int64_t cpu, std::vector<std::int32_t> free,
                  const std::string& model = "A") {
  return table.Fragment({cpu, free}, model);
}

TEST_CASE("Fragment: idle compute counts by how many of the expected pods cannot use it") {
  // Half of the pods want one whole device, half want 0.25 of one with 4 cores.
  const FragmentTable table({{1000, 1, 1000, {}, 0.5}, {4000, 1, 250, {}, 0.5}});
  // Two devices free 1000 and 200, CPU enough: the whole one cannot use the 200; the quarter
  // cannot either: 0.5 x 200 + 0.5 x 200.
  CHECK(FragmentOf(table, 8000, {1000, 200}, "A") == 200);
  // Too little CPU for the second: all 1200 are lost to it, 200 to the first.
  CHECK(FragmentOf(table, 2000, {1000, 200}, "A") == 0.5 * 200 + 0.5 * 1200);
  // No device is whole: all is lost to the first, nothing to the second.
  CHECK(FragmentOf(table, 8000, {500, 500}, "A") == 0.5 * 1000);
  CHECK(FragmentOf(table, 8000, {0, 0}, "A") == 0);
}

TEST_CASE("Fragment: a model that a pod may not use is all idle to it") {
  const FragmentTable table({{1000, 1, 1000, {"B"}, 1.0}});
  CHECK(FragmentOf(table, 8000, {1000, 1000}, "A") == 2000);
  CHECK(FragmentOf(table, 8000, {1000, 1000}, "B") == 0);
}

TEST_CASE("Fragment: more shapes than any trace has are no fault") {
  std::vector<ExpectedPod> pods;
  for (int i = 1; i <= 900; ++i) pods.push_back({1000, 1, i, {}, 1.0 / 900});
  const FragmentTable table(pods);
  CHECK(FragmentOf(table, 8000, {1000, 950}, "A") == Approx(0).margin(1e-6));
  CHECK(FragmentOf(table, 8000, {450}, "A") == Approx(225));  // half of the shapes want more
}

TEST_CASE("FGD: the better device is the one that fragments less") {
  // All pods want whole devices: taking 0.2 from a fresh device costs more than from a begun one.
  Frozen cluster = TraceNode({1000, 700});
  const Fgd fgd({{1000, 1, 1000, {}, 1.0}});
  const TaskClass cls = MakeTaskClass(APod().Share(200, 0));
  const NodeView view = cluster.View("n");
  CHECK(fgd.RateDevice(view, cls, cls.lasting[0], 1, 0) >
        fgd.RateDevice(view, cls, cls.lasting[0], 0, 0));
  CHECK(fgd.Rate(view, cls) == fgd.RateDevice(view, cls, cls.lasting[0], 1, 0));
}

}  // namespace
}  // namespace tephra
