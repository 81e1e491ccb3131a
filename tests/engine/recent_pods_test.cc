#include "engine/recent_pods.h"

#include <catch2/catch.hpp>

#include "tests/support/build.h"

namespace tephra {
namespace {

TaskClass Of(const PodTemplate& pod) { return MakeTaskClass(pod); }

TEST_CASE("Recent pods: nothing is expected before enough have come") {
  RecentPods recent;
  recent.Came(Of(APod().Gpus(1).Cores(4)), RecentPods::kEnough - 1);
  recent.Came(Of(APod().Cores(4)), 1000);  // of no use for GPU requests
  CHECK_FALSE(recent.Settle());
  CHECK(recent.expected().empty());
  recent.Came(Of(APod().Gpus(1).Cores(4)), 1);
  CHECK(recent.Settle());
  REQUIRE(recent.expected().size() == 1);
  CHECK(recent.expected()[0] == ExpectedPod{4000, 1, 1000, {}, 1.0});
  CHECK(recent.version() == 1);
}

TEST_CASE("Recent pods: shares are of pods, the order is by the GPUs that they ask for") {
  RecentPods recent;
  recent.Came(Of(APod().Share(500, 0)), 300);
  recent.Came(Of(APod().Gpus(8).Cores(32)), 100);
  REQUIRE(recent.Settle());
  REQUIRE(recent.expected().size() == 2);
  CHECK(recent.expected()[0].devices == 8);
  CHECK(recent.expected()[0].share == 0.25);
  CHECK(recent.expected()[1].compute == 500);
  CHECK(recent.expected()[1].share == 0.75);
}

TEST_CASE("Recent pods: the list follows when what comes has shifted, and not before") {
  RecentPods recent;
  const TaskClass one = Of(APod().Gpus(1)), two = Of(APod().Gpus(2));
  recent.Came(one, 5000);
  REQUIRE(recent.Settle());
  recent.Came(one, 1000);
  recent.Came(two, 200);  // 400 of 6,400 GPUs
  CHECK_FALSE(recent.Settle());
  recent.Came(two, 800);  // 2,000 of 8,000
  CHECK(recent.Settle());
  CHECK(recent.expected().size() == 2);
  CHECK(recent.version() == 2);
}

TEST_CASE("Recent pods: the list follows when half as many more have come") {
  RecentPods recent;
  const TaskClass one = Of(APod().Gpus(1));
  recent.Came(one, 1000);
  REQUIRE(recent.Settle());
  recent.Came(one, 499);
  CHECK_FALSE(recent.Settle());
  recent.Came(one, 100);
  CHECK(recent.Settle());
}

TEST_CASE("Recent pods: a configured list counts as some pods that came") {
  RecentPods recent;
  const std::vector<ExpectedPod> given = {{0, 0, 0, {}, 0.5}, {4000, 8, 1000, {}, 0.5}};
  REQUIRE(recent.ExpectedWith(given).size() == 1);  // pods without GPUs are left out
  CHECK(recent.ExpectedWith(given)[0] == ExpectedPod{4000, 8, 1000, {}, 1});
  recent.Came(Of(APod().Gpus(1)), 3 * RecentPods::kGiven);
  REQUIRE(recent.Settle());
  REQUIRE(recent.ExpectedWith(given).size() == 2);
  CHECK(recent.ExpectedWith(given)[0].share == 0.25);
  CHECK(recent.ExpectedWith(given)[1].share == 0.75);
  CHECK(recent.ExpectedWith({}) == recent.expected());
}

TEST_CASE("Recent pods: what came long ago fades") {
  RecentPods recent;
  recent.Came(Of(APod().Gpus(1)), RecentPods::kWindow);
  REQUIRE(recent.Settle());
  for (int i = 0; i < 30; ++i) recent.Came(Of(APod().Gpus(4)), RecentPods::kWindow / 2);
  REQUIRE(recent.Settle());
  CHECK(recent.expected()[0].devices == 4);
  CHECK((recent.expected().size() == 1 || recent.expected()[1].share < 0.01));
}

TEST_CASE("Recent pods: the rarest shapes are forgotten first, and the list is short") {
  RecentPods recent;
  for (int cores = 1; cores <= 600; ++cores) recent.Came(Of(APod().Gpus(1).Cores(cores)), cores);
  REQUIRE(recent.Settle());
  CHECK(recent.expected().size() == RecentPods::kMostShapes);
  CHECK(recent.expected()[0].cpu == 600'000);
}

}  // namespace
}  // namespace tephra
