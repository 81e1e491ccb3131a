// When a GPU is published as unhealthy because a container does not end.
#include "plugins/node/blocked_gpus.h"

#include <catch2/catch.hpp>

#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

using std::chrono::seconds;

Holding HeldBy(const std::string& pod, std::size_t gpu) {
  Holding holding;
  holding.grant = {{pod, pod, "team", pod, "main"}, {{gpu, SliceMode::kWhole, 1000, 10'000, "", 0}}};
  return holding;
}

std::string Health(const BlockedGpus& blocked, Gpus gpus) {
  blocked.Mark(gpus);
  std::string text;
  for (const Gpu& gpu : gpus.devices) text += gpu.hardware.healthy ? "+" : "-";
  return text;
}

TEST_CASE("BlockedGpus: a GPU is blocked while a container outlives its pod for longer than the limit") {
  const auto start = BlockedGpus::Clock::now();
  const std::map<std::string, Holding> holdings = {{"a", HeldBy("train-0", 1)}, {"b", HeldBy("train-1", 0)}};
  BlockedGpus blocked{seconds(60)};
  CHECK_FALSE(blocked.Update(holdings, {"a"}, start));
  CHECK_FALSE(blocked.Update(holdings, {"a"}, start + seconds(59)));
  CHECK(Health(blocked, SomeGpus(2)) == "++");
  CHECK(blocked.Update(holdings, {"a"}, start + seconds(60)));
  CHECK(Health(blocked, SomeGpus(2)) == "+-");
  CHECK(blocked.why().at(1) == "container main of pod team/train-0 still uses it, although the pod is gone");
  CHECK_FALSE(blocked.Update(holdings, {"a"}, start + seconds(61)));
  CHECK(blocked.Update(holdings, {}, start + seconds(62)));
  CHECK(Health(blocked, SomeGpus(2)) == "++");
  // A later one has the same time.
  CHECK_FALSE(blocked.Update(holdings, {"a"}, start + seconds(63)));
  CHECK_FALSE(blocked.Update(holdings, {"a"}, start + seconds(100)));
}

TEST_CASE("BlockedGpus: a GPU that is unhealthy already keeps its reason") {
  const auto start = BlockedGpus::Clock::now();
  const std::map<std::string, Holding> holdings = {{"a", HeldBy("train-0", 0)}};
  BlockedGpus blocked{seconds(1)};
  blocked.Update(holdings, {"a"}, start);
  REQUIRE(blocked.Update(holdings, {"a", "unknown"}, start + seconds(1)));
  Gpus gpus = SomeGpus(1);
  gpus.devices[0].hardware.healthy = false;
  gpus.devices[0].unhealthy = "Xid 79";
  blocked.Mark(gpus);
  CHECK(gpus.devices[0].unhealthy == "Xid 79");
  Gpus none;
  blocked.Mark(none);
}

}  // namespace
}  // namespace tephra::node
