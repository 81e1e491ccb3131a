#include "plugins/node/health.h"

#include <catch2/catch.hpp>

#include "plugins/node/health_watch.h"
#include "tests/plugins/node/fake_node.h"

namespace tephra::node {
namespace {

constexpr std::int64_t kMinute = 60'000;
const absl::Status kFine = absl::OkStatus();

using Changes = std::vector<HealthChange>;

TEST_CASE("Health: Xids of programs do not count, all others do") {
  const XidPolicy policy;
  for (const unsigned xid : {13, 31, 43, 45, 68, 109}) CHECK_FALSE(policy.Counts(xid));
  for (const unsigned xid : {48, 63, 74, 79, 94, 999}) CHECK(policy.Counts(xid));
}

TEST_CASE("Health: the variables of NVIDIA's plugin change what counts") {
  const XidPolicy fewer = *XidPolicy::Parse("63, 94,", "31");
  CHECK_FALSE(fewer.Counts(63));
  CHECK_FALSE(fewer.Counts(94));
  CHECK_FALSE(fewer.Counts(13));
  CHECK(fewer.Counts(31));
  CHECK(fewer.Counts(79));
  const XidPolicy one = *XidPolicy::Parse("xids", "79");
  CHECK(one.Counts(79));
  CHECK_FALSE(one.Counts(48));
  CHECK(XidPolicy::Parse("all", "")->Counts(79) == false);
  CHECK(XidPolicy::Parse("", "all")->Counts(13));
  CHECK(XidPolicy::Parse("63;64", "").status().message() ==
        "DP_DISABLE_HEALTHCHECKS: \"63;64\", expected an Xid, \"xids\" or \"all\"");
  CHECK_FALSE(XidPolicy::Parse("", "-1").ok());
}

TEST_CASE("Health: a reset is waited for where NVIDIA's catalog asks for one") {
  for (const unsigned xid :
       {46, 48, 62, 64, 74, 79, 95, 110, 119, 120, 136, 140, 143, 155, 156, 158}) {
    INFO(xid);
    CHECK(XidTakesReset(xid));
  }
  // RESTART_APP and IGNORE there.
  for (const unsigned xid : {8, 13, 31, 43, 45, 63, 68, 69, 92, 94, 121, 154}) {
    INFO(xid);
    CHECK_FALSE(XidTakesReset(xid));
  }
}

TEST_CASE("Health: a card with an Xid is sick until it was quiet for a while") {
  Health health({});
  health.OnXid("a", 31, std::nullopt, 0);
  CHECK(health.TakeChanges().empty());
  CHECK(health.xids() == XidCounts{{"a", {{31, 1}}}});
  health.OnXid("a", 94, 3, 0);
  CHECK(health.TakeChanges() == Changes{{"a", false, "Xid 94 in GPU instance 3", 3}});
  health.OnProbe("a", kFine, 0, 4 * kMinute);
  health.OnXid("a", 94, 3, 4 * kMinute);  // again: nothing new, but the time begins again
  health.OnProbe("a", kFine, 0, 6 * kMinute);
  CHECK(health.TakeChanges().empty());
  CHECK_FALSE(health.healthy("a"));
  CHECK(health.healthy("b"));
  health.OnProbe("a", kFine, 0, 9 * kMinute);
  CHECK(health.TakeChanges() == Changes{{"a", true, "", std::nullopt}});
}

TEST_CASE("Health: a card that needs a reset is sick until it was away and is back") {
  Health health({});
  health.OnXid("a", 79, std::nullopt, 0);
  health.OnProbe("a", kFine, 0, 60 * kMinute);
  CHECK_FALSE(health.healthy("a"));
  health.OnProbe("a", absl::DataLossError("lost"), std::nullopt, 61 * kMinute);
  CHECK_FALSE(health.healthy("a"));
  CHECK(health.TakeChanges().back().why == "it does not answer: lost");
  health.OnProbe("a", kFine, 0, 62 * kMinute);
  CHECK(health.healthy("a"));
}

TEST_CASE("Health: a call that fails for once is no reset") {
  Health health({});
  health.OnXid("a", 79, std::nullopt, 0);
  health.OnProbe("a", absl::InternalError("unknown"), std::nullopt, kMinute);
  health.OnProbe("a", kFine, 0, 60 * kMinute);
  CHECK_FALSE(health.healthy("a"));
  health.OnProbe("b", absl::InternalError("unknown"), std::nullopt, 0);
  CHECK_FALSE(health.healthy("b"));
  health.OnProbe("b", kFine, 0, kMinute);
  CHECK_FALSE(health.healthy("b"));
  health.OnProbe("b", kFine, 0, 5 * kMinute);
  CHECK(health.healthy("b"));
}

TEST_CASE("Health: a memory error is one more than before, and fewer are a reset") {
  Health health({});
  health.OnProbe("a", kFine, 7, 0);  // from before the plugin began
  CHECK(health.healthy("a"));
  health.OnProbe("a", kFine, 8, 1);
  CHECK_FALSE(health.healthy("a"));
  CHECK(health.TakeChanges().size() == 1);
  health.OnProbe("a", kFine, 8, 60 * kMinute);
  CHECK_FALSE(health.healthy("a"));
  health.OnProbe("a", kFine, 0, 61 * kMinute);
  CHECK(health.healthy("a"));
}

TEST_CASE("Health: sick cards are marked with the reason") {
  Health health({});
  Gpus gpus;
  gpus.devices.resize(2);
  gpus.devices[0].hardware.uuid = "a";
  gpus.devices[1].hardware.uuid = "b";
  health.OnXid("b", 79, std::nullopt, 0);
  health.Apply(gpus);
  CHECK(gpus.devices[0].hardware.healthy);
  CHECK_FALSE(gpus.devices[1].hardware.healthy);
  CHECK(gpus.devices[1].unhealthy == "Xid 79");
}

TEST_CASE("HealthWatch: what happens to a card is heard of, and that it is well again") {
  FakeNode node(R"({"model": "A100-40GB", "count": 2})");
  const Gpus gpus = node.Read();
  const std::string a = gpus.devices[0].hardware.uuid, b = gpus.devices[1].hardware.uuid;
  std::int64_t now_ms = 0;
  const auto clock = [&] { return now_ms; };
  HealthWatch watch(node.nvml(), {a, b}, {});
  CHECK(watch.unwatched().ok());
  CHECK(watch.Round(0, clock).empty());
  node.Control(R"({"events": [{"gpu": 0, "xid": 31}]})");
  CHECK(watch.Round(0, clock).empty());
  node.Control(R"({"events": [{"gpu": 0, "xid": 31}, {"gpu": 1, "xid": 94}]})");
  CHECK(watch.Round(100, clock) == Changes{{b, false, "Xid 94", std::nullopt}});
  now_ms = 5 * kMinute;
  CHECK(watch.Round(0, clock) == Changes{{b, true, "", std::nullopt}});
  node.Control(R"({"gpus": {"0": {"lost": true}, "1": {"eccErrors": 1}}})");
  Changes changes = watch.Round(100, clock);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0].why.find("the GPU is lost") != std::string::npos);
  CHECK(changes[1].why == "a memory error that could not be corrected");
  node.Control("{}");
  CHECK(watch.Round(0, clock).size() == 2);
  CHECK(watch.health().healthy(a));
  CHECK(watch.health().healthy(b));
  // Events of the card that was away are reported again.
  node.Control(R"({"events": [{"gpu": 0, "xid": 79}]})");
  CHECK(watch.Round(100, clock) == Changes{{a, false, "Xid 79", std::nullopt}});
}

TEST_CASE(
    "HealthWatch: a card that is lost at the beginning is sick, and watched when it is back") {
  FakeNode node(R"({"model": "A100-40GB", "count": 1})");
  const std::string a = node.Read().devices[0].hardware.uuid;
  node.Control(R"({"gpus": {"0": {"lost": true}}})");
  HealthWatch watch(node.nvml(), {a}, {});
  CHECK(absl::IsDataLoss(watch.unwatched()));
  const auto clock = [] { return std::int64_t{0}; };
  CHECK(watch.Round(0, clock).size() == 1);
  node.Control("{}");
  CHECK(watch.Round(0, clock) == Changes{{a, true, "", std::nullopt}});
  CHECK(watch.unwatched().ok());
}

}  // namespace
}  // namespace tephra::node
