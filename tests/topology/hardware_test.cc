#include "topology/hardware.h"

#include <catch2/catch.hpp>

#include "tests/support/build.h"

namespace tephra {
namespace {

TEST_CASE("Hardware: capacity counts healthy devices only") {
  Hardware hardware;
  const NodeId id = hardware.Upsert(ANode("n").Cores(4).Gpus(3, "A", 1000).Unhealthy(1));
  CHECK(hardware.capacity(id)[kCpu] == 4000);
  CHECK(hardware.capacity(id)[kGpu] == 2000);
  CHECK(hardware.capacity(id)[kGpuMemory] == 2000);
}

TEST_CASE("Hardware: the total follows every node that comes, changes and goes") {
  Hardware hardware;
  hardware.Upsert(ANode("a").Cores(4));
  const NodeId b = hardware.Upsert(ANode("b").Cores(8).Gpus(1));
  CHECK(hardware.total()[kCpu] == 12000);
  hardware.Upsert(ANode("b").Cores(2));
  CHECK(hardware.total()[kCpu] == 6000);
  CHECK(hardware.total()[kGpu] == 0);
  hardware.Remove(b);
  hardware.Remove(b);
  CHECK(hardware.total()[kCpu] == 4000);
}

TEST_CASE("Hardware: ranks follow names, not arrival") {
  Hardware hardware;
  const NodeId c = hardware.Upsert(ANode("c")), a = hardware.Upsert(ANode("a"));
  hardware.Settle();
  CHECK(hardware.rank(a) == 0);
  CHECK(hardware.rank(c) == 1);
  const NodeId b = hardware.Upsert(ANode("b"));
  hardware.Settle();
  CHECK(hardware.ranked() == std::vector<NodeId>{a, b, c});
  hardware.Remove(a);
  hardware.Settle();
  CHECK(hardware.ranked() == std::vector<NodeId>{b, c});
}

TEST_CASE("Hardware: a name gets its slot back, and is not found while it is gone") {
  Hardware hardware;
  const NodeId a = hardware.Upsert(ANode("a"));
  hardware.Remove(a);
  CHECK_FALSE(hardware.Find("a").valid());
  CHECK_FALSE(hardware.Find("never").valid());
  CHECK(hardware.Reserve("a") == a);
  CHECK(hardware.Upsert(ANode("a")) == a);
  CHECK(hardware.Find("a") == a);
  CHECK(hardware.slots() == 1);
}

TEST_CASE("Hardware: only nodes that come and go move the order of names") {
  Hardware hardware;
  hardware.Upsert(ANode("a"));
  hardware.Settle();
  const auto order = hardware.order_version();
  const auto version = hardware.version();
  hardware.Upsert(ANode("a").Cores(2));
  hardware.Settle();
  CHECK(hardware.order_version() == order);
  CHECK(hardware.version() > version);
  hardware.Upsert(ANode("b"));
  hardware.Settle();
  CHECK(hardware.order_version() > order);
}

TEST_CASE("Hardware: a node that grows keeps rows of its own for its devices") {
  Hardware hardware;
  const NodeId a = hardware.Upsert(ANode("a").Gpus(2)), b = hardware.Upsert(ANode("b").Gpus(2));
  hardware.Upsert(ANode("a").Gpus(4));
  const auto overlap = [&] {
    const std::size_t a0 = hardware.first_device(a), b0 = hardware.first_device(b);
    return a0 < b0 + hardware.device_count(b) && b0 < a0 + hardware.device_count(a);
  };
  CHECK_FALSE(overlap());
  CHECK(hardware.first_device(a) + 4 <= hardware.device_rows());
  const std::size_t rows = hardware.device_rows();
  hardware.Upsert(ANode("a").Gpus(1));
  hardware.Upsert(ANode("a").Gpus(4));
  CHECK(hardware.device_rows() == rows);
  CHECK_FALSE(overlap());
}

TEST_CASE("Hardware: mixed models are said of nodes with more than one") {
  Hardware hardware;
  CHECK_FALSE(hardware.mixed_models(hardware.Upsert(ANode("a").Gpus(2, "A"))));
  CHECK(hardware.mixed_models(hardware.Upsert(ANode("b").Gpus(1, "A").Gpus(1, "B"))));
  CHECK_FALSE(hardware.mixed_models(hardware.Upsert(ANode("c"))));
}

TEST_CASE("Hardware: domains are the values of a followed label, the host itself for hostname") {
  Hardware hardware;
  const NodeId a = hardware.Upsert(ANode("a").Label("rack", "r1"));
  hardware.FollowKey("rack");
  const NodeId b = hardware.Upsert(ANode("b").Label("rack", "r2"));
  const NodeId c = hardware.Upsert(ANode("c").Label("rack", "r1"));
  const NodeId d = hardware.Upsert(ANode("d"));
  CHECK(hardware.domain("rack", a) == hardware.domain("rack", c));
  CHECK(hardware.domain("rack", a) != hardware.domain("rack", b));
  CHECK(hardware.domain("rack", d) == Hardware::kNoDomain);
  CHECK(hardware.domain(kHostnameKey, a) != hardware.domain(kHostnameKey, c));
  hardware.Upsert(ANode("a").Label("rack", "r2"));
  CHECK(hardware.domain("rack", a) == hardware.domain("rack", b));
  hardware.Upsert(ANode("a"));
  CHECK(hardware.domain("rack", a) == Hardware::kNoDomain);
}

}  // namespace
}  // namespace tephra
