#include "queue/task_class.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/build.h"
#include "tests/support/random_case.h"
#include "tests/support/room.h"

namespace tephra {
namespace {

constexpr auto kApp = ContainerKind::kApp;
constexpr auto kInit = ContainerKind::kInit;
constexpr auto kSidecar = ContainerKind::kSidecar;

double CoresOf(const PodTemplate& pod) {
  return static_cast<double>(MakeTaskClass(pod).demand[kCpu]) / 1000;
}

// The cases of KEP-753, "Resource calculation": init containers run one at a time beside the
// sidecars started before them; at last all sidecars and apps run together.
TEST_CASE("TaskClass: demand follows Kubernetes' rule for init and sidecar containers") {
  // Apps alone: 1 + 2.
  CHECK(CoresOf(APod().Cores(1).And(kApp).Cores(2)) == 3);
  // max(init 5, app 3).
  CHECK(CoresOf(APod().As(kInit).Cores(5).And(kApp).Cores(3)) == 5);
  // Init containers do not add up: max(5, 4, 3).
  CHECK(CoresOf(APod().As(kInit).Cores(5).And(kInit).Cores(4).And(kApp).Cores(3)) == 5);
  // A sidecar adds to the apps: 2 + 3.
  CHECK(CoresOf(APod().As(kSidecar).Cores(2).And(kApp).Cores(3)) == 5);
  // ... and to init containers behind it: max(2 + 4, 2 + 3).
  CHECK(CoresOf(APod().As(kSidecar).Cores(2).And(kInit).Cores(4).And(kApp).Cores(3)) == 6);
  // ... not to those before it: max(4, 2 + 1).
  CHECK(CoresOf(APod().As(kInit).Cores(4).And(kSidecar).Cores(2).And(kApp).Cores(1)) == 4);
  // Two sidecars pile up: max(1 + 7, 1 + 2 + 3, 1 + 2 + 4).
  CHECK(CoresOf(APod()
                    .As(kSidecar)
                    .Cores(1)
                    .And(kInit)
                    .Cores(7)
                    .And(kSidecar)
                    .Cores(2)
                    .And(kInit)
                    .Cores(3)
                    .And(kApp)
                    .Cores(4)) == 8);
  // Overhead comes on top of the larger one.
  CHECK(CoresOf(APod().As(kInit).Cores(5).And(kApp).Cores(3).Overhead(0.25)) == 5.25);
}

TEST_CASE("TaskClass: the rule holds for each kind by itself") {
  const TaskClass cls =
      MakeTaskClass(APod().As(kInit).Cores(8).Memory(kGiB).And(kApp).Cores(1).Memory(4 * kGiB));
  CHECK(cls.demand[kCpu] == 8000);
  CHECK(cls.demand[kMemory] == 4 * kGiB);
  CHECK(cls.demand[kPods] == 1);
}

TEST_CASE("TaskClass: GPU demand is the peak, GPU memory that of fractions alone") {
  TaskClass cls = MakeTaskClass(APod().Gpus(2).And(kApp).Share(250, 4000, 2));
  CHECK(cls.demand[kGpu] == 2500);
  CHECK(cls.demand[kGpuMemory] == 8000);
  CHECK(cls.whole_gpus == 2);
  CHECK(cls.fractional);
  CHECK_FALSE(cls.single_ask());
  cls = MakeTaskClass(APod().As(kInit).Gpus(4).And(kApp).Gpus(1));
  CHECK(cls.demand[kGpu] == 4000);
  CHECK(cls.whole_gpus == 1);
  CHECK(cls.init.size() == 1);
  CHECK(MakeTaskClass(APod().Gpus(1)).single_ask());
  CHECK_FALSE(MakeTaskClass(APod()).needs_devices());
}

TEST_CASE("DeviceCharges: containers that stay add up on a device") {
  const TaskClass cls = MakeTaskClass(APod().Share(300, 1000).And(kApp).Share(200, 500));
  std::vector<DeviceCharge> charges;
  DeviceCharges(cls, {PartSlice(1, 300, 1000, 0), PartSlice(1, 200, 500, 1)}, {}, charges);
  REQUIRE(charges.size() == 1);
  CHECK(charges[0].device == 1);
  CHECK(charges[0].compute == 500);
  CHECK(charges[0].memory_mib == 1500);
}

TEST_CASE("DeviceCharges: an init container is charged only where it is more than what stays") {
  const TaskClass cls = MakeTaskClass(APod().As(kInit).Share(800, 100).And(kApp).Share(300, 2000));
  std::vector<DeviceCharge> charges;
  DeviceCharges(cls, {PartSlice(0, 800, 100, 0), PartSlice(0, 300, 2000, 1)}, {}, charges);
  REQUIRE(charges.size() == 1);
  CHECK(charges[0].compute == 800);      // max(800, 300)
  CHECK(charges[0].memory_mib == 2000);  // max(100, 2000)
  DeviceCharges(cls, {PartSlice(0, 800, 100, 0), PartSlice(1, 300, 2000, 1)}, {}, charges);
  CHECK(charges.size() == 2);
}

TEST_CASE("DeviceCharges: an init container runs beside the sidecars before it, not those behind") {
  const PodTemplate before = APod().As(kSidecar).Share(300, 0).And(kInit).Share(600, 0);
  const PodTemplate behind = APod().As(kInit).Share(600, 0).And(kSidecar).Share(300, 0);
  std::vector<DeviceCharge> charges;
  DeviceCharges(MakeTaskClass(before), {PartSlice(0, 300, 0, 0), PartSlice(0, 600, 0, 1)}, {},
                charges);
  CHECK(charges[0].compute == 900);
  DeviceCharges(MakeTaskClass(behind), {PartSlice(0, 600, 0, 0), PartSlice(0, 300, 0, 1)}, {},
                charges);
  CHECK(charges[0].compute == 600);
}

TEST_CASE("TaskClass: demand and charges agree with the oracle on random pods") {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Dice dice(seed);
    const CaseSize size{.intricate = dice.Percent(70)};
    const PodTemplate pod = RandomPod(dice, size);
    const TaskClass cls = MakeTaskClass(pod);
    INFO("seed " << seed);
    for (Kind k : {kCpu, kMemory, kPods, kFirstExtendedKind}) {
      REQUIRE(cls.demand[k] == PeakOf(pod, k));
    }
    const Slices slices = RandomSlices(dice, pod, ANode("n").Gpus(4));
    std::vector<DeviceCharge> charges;
    DeviceCharges(cls, slices, {}, charges);
    std::int64_t compute = 0, memory = 0;
    for (const DeviceCharge& charge : charges)
      compute += charge.compute, memory += charge.memory_mib;
    const auto [compute_held, memory_held] = Room::DeviceAmounts(pod, slices);
    REQUIRE(compute == compute_held);
    REQUIRE(memory == memory_held);
  }
}

TEST_CASE("ClassTable: equal pods are one class, different ones are not") {
  ClassTable table;
  const ClassId a = table.Acquire(APod().Gpus(1)), b = table.Acquire(APod().Gpus(1));
  CHECK(a == b);
  CHECK(table.Acquire(APod().Gpus(2)) != a);
  CHECK(table.Acquire(APod().Gpus(1).Select("x", "y")) != a);
  CHECK(table.Acquire(APod().Gpus(1).AtMost(1, "g")) != a);
  CHECK(table.Acquire(
            APod().Gpus(1).Tolerate({"k", "", Toleration::Operator::kExists, true, {}})) != a);
}

TEST_CASE("ClassTable: a class without tasks for a while keeps its id") {
  ClassTable table;
  const ClassId a = table.Acquire(APod().Gpus(1));
  table.Retain(a);
  const auto generation = table.generation(a);
  table.Release(a);
  CHECK(table.live(a));
  table.Release(a);
  CHECK_FALSE(table.live(a));
  CHECK(table.Acquire(APod().Gpus(2)) != a);
  CHECK(table.Acquire(APod().Gpus(1)) == a);
  CHECK(table.live(a));
  CHECK(table.generation(a) == generation);
  CHECK(table.generations() == 0);
}

TEST_CASE("ClassTable: ids of classes long unused are given to new ones, and say so") {
  ClassTable table;
  const ClassId kept = table.Acquire(APod().Gpus(7).AtMost(1, "kept"));
  for (int i = 1; i <= 5000; ++i) {
    const ClassId id =
        table.Acquire(APod().Cores(i).AtMost(1, "group" + std::to_string(i), "rack"));
    REQUIRE(table[id].demand[kCpu] == i * 1000);
    REQUIRE(table[id].limits.size() == 1);
    REQUIRE(table.topology_key(table[id].limits[0]) == "rack");
    table.Release(id);
  }
  CHECK(table.size() < 1000);
  CHECK(table.limit_count() < 1000);
  CHECK(table.generations() > 4000);
  CHECK(table.generation(kept) == 1);
  CHECK(table[kept].whole_gpus == 7);
  CHECK(table.topology_key(table[kept].limits[0]) == kHostnameKey);
  CHECK(table.Acquire(APod().Gpus(7).AtMost(1, "kept")) == kept);
}

TEST_CASE("ClassTable: one limit for a group and key, shared by all classes that name it") {
  ClassTable table;
  const ClassId a = table.Acquire(APod().AtMost(1, "port")),
                b = table.Acquire(APod().Gpus(1).AtMost(1, "port"));
  const ClassId c = table.Acquire(APod().AtMost(1, "port", "rack"));
  CHECK(table[a].limits == table[b].limits);
  CHECK(table[a].limits != table[c].limits);
  CHECK(table.topology_key(table.limit("port", "rack")) == "rack");
  CHECK(table.limit("port", kHostnameKey) == table[a].limits[0]);
  CHECK_FALSE(table.limit("other", "rack").valid());
}

TEST_CASE("BoundedCount: a name that several tasks share is one place, until the last of them is gone") {
  ClassTable table;
  const auto with = [&](std::int32_t own, std::vector<std::string> shared) -> const TaskClass& {
    PodTemplate pod = APod();
    pod.limits = {{"volumes", kHostnameKey, DomainLimit::kNoBound, true, own, std::move(shared)}};
    return table[table.Acquire(pod)];
  };
  BoundedCount held;
  const auto left = [&](const TaskClass& cls) { return held.Left(cls.use(0), 4); };
  CHECK(left(with(5, {})) == 0);
  CHECK(left(with(1, {})) == 4);
  CHECK(left(with(2, {"a"})) == 1);
  held.Add(with(0, {"a", "b"}).use(0), +1);
  held.Add(with(1, {"b"}).use(0), +1);
  CHECK(held.taken() == 3);
  CHECK(left(with(0, {"a", "b"})) == DomainLimit::kNoBound);
  CHECK(left(with(0, {"b", "c"})) == DomainLimit::kNoBound);
  CHECK(left(with(0, {"c", "d"})) == 0);
  CHECK(left(with(1, {"a"})) == 1);
  CHECK(left(with(1, {"c"})) == 0);
  CHECK(held.Asked(with(1, {"b", "c"}).use(0)) == 2);
  CHECK(held.Left(with(9, {"c"}).use(0)) == DomainLimit::kNoBound);
  // A node that has too few places is open to a task that takes no further place.
  CHECK(held.Left(with(0, {"b"}).use(0), 1) == DomainLimit::kNoBound);
  held.Add(with(0, {"a", "b"}).use(0), -1);
  CHECK(held.taken() == 2);
  held.Add(with(1, {"b"}).use(0), -1);
  CHECK(held == BoundedCount());
  CHECK(held.empty());
}

TEST_CASE("ClassTable: numbers of names are given again once no class has the name") {
  ClassTable table;
  std::uint32_t highest = 0;
  for (int i = 0; i < 5000; ++i) {
    PodTemplate pod = APod();
    pod.limits = {{"volumes", kHostnameKey, 1, true, 0, {"a" + std::to_string(i), "b"}}};
    const ClassId id = table.Acquire(pod);
    REQUIRE(table[id].shared[0].size() == 2);
    REQUIRE(table[id].shared[0][0] != table[id].shared[0][1]);
    highest = std::max(highest, table[id].shared[0][1]);
    table.Release(id);
  }
  CHECK(highest < 1000);
}

}  // namespace
}  // namespace tephra
