// The engine's file: what it may say, and what is said of one that is wrong.
#include "sidecar/config.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

Config Good(const std::string& text) {
  auto config = ParseConfig("engine.yaml", text);
  INFO(config.status().ToString());
  REQUIRE(config.ok());
  return *std::move(config);
}

std::string Bad(const std::string& text) {
  const auto config = ParseConfig("engine.yaml", text);
  REQUIRE_FALSE(config.ok());
  return std::string(config.status().message());
}

TEST_CASE("A file that says nothing is the defaults") { CHECK(Good("{}") == Config{}); }

TEST_CASE("Every key is taken") {
  const Config config = Good(R"(
engine:
  node_scores: [binpack, { name: spread, weight: 3 }]
  device_scores: bestfit
  ties: random
  seed: 7
  search_budget: 100
  assume_timeout: 1m
  job_order: srsf
  usage_half_life: 7d
  usage_weight: 0.5
  evict_from_unhealthy_devices: true
  enqueue_gate: volcano
  overcommit_factor: 1.25
  full_verify_every: 5
  disabled_actions: [allocate]
log: { level: debug, format: json }
journal: { directory: /var/j, segment_size: 64Mi, segments: 3 }
metrics: { listen: "0.0.0.0:9102" }
probes: { listen: "0.0.0.0:9103", wedged_after_s: 30 }
socket: /run/s
listen: 127.0.0.1:9101
)");
  CHECK(config.engine.node_scores == std::vector<WeightedName>{{"binpack", 1}, {"spread", 3}});
  CHECK(config.engine.device_scores == std::vector<WeightedName>{{"bestfit", 1}});
  CHECK(config.engine.ties == Ties::kRandom);
  CHECK(config.engine.seed == 7);
  CHECK(config.engine.search_budget == 100);
  CHECK(config.engine.assume_timeout_ms == 60'000);
  CHECK(config.engine.job_order == JobOrder::kRemainingWork);
  CHECK(config.engine.usage_half_life_ms == 7 * 24 * 3600 * kSecondMs);
  CHECK(config.engine.usage_weight_permille == 500);
  CHECK(config.engine.evict_from_unhealthy);
  CHECK(config.engine.enqueue_gate == EnqueueGate::kVolcano);
  CHECK(config.engine.overcommit_permille == 1250);
  CHECK(config.engine.full_verify_every == 5);
  CHECK(config.engine.disabled_actions == std::vector<std::string>{"allocate"});
  CHECK(config.log == LogSettings{LogLevel::kDebug, LogFormat::kJson});
  CHECK(config.journal == JournalSettings{"/var/j", 64 << 20, 3});
  CHECK(config.metrics_listen == "0.0.0.0:9102");
  CHECK(config.probes_listen == "0.0.0.0:9103");
  CHECK(config.wedged_after_s == 30);
  CHECK(config.server == ServerSettings{"/run/s", "127.0.0.1:9101"});
}

TEST_CASE("What is wrong is named with file, line, key, value and what was expected") {
  CHECK(Bad("log:\n  level: loud\n") ==
        "engine.yaml:2: log.level: \"loud\", expected debug, info, warning or error");
  CHECK(Bad("sokcet: x\n").find("engine.yaml:1: key: \"sokcet\", expected one of") == 0);
  CHECK(Bad("sokcet: x\n").find("did you mean \"socket\"?") != std::string::npos);
  CHECK(Bad("engine:\n  seed: -1\n").find("engine.yaml:2: engine.seed: \"-1\"") == 0);
  CHECK(Bad("engine:\n  assume_timeout: 0s\n")
            .find("engine.yaml:2: engine.assume_timeout: \"0s\", expected a duration") == 0);
  CHECK(Bad("engine: { usage_weight: 1001 }\n").find("engine.usage_weight: \"1001\"") !=
        std::string::npos);
  CHECK(Bad("engine: { enqueue_gate: on }\n") ==
        "engine.yaml:1: engine.enqueue_gate: \"on\", expected none or volcano");
  for (const char* factor : {"0.99", "many", "-2", "1000.1", "nan", "[1]"}) {
    const std::string said = Bad("engine:\n  overcommit_factor: " + std::string(factor) + "\n");
    INFO(said);
    CHECK(said.find("engine.yaml:2: engine.overcommit_factor: ") == 0);
    CHECK(said.find("expected a number from 1 to 1000") != std::string::npos);
  }
  CHECK(Bad("engine: { node_scores: best }\n").find("engine.yaml:1: ") == 0);
  CHECK(Bad("engine: { node_scores: best }\n").find("\"best\"") != std::string::npos);
  CHECK(Bad("journal: { segments: 2 }\n").find("journal.directory") != std::string::npos);
  CHECK(Bad("journal: { directory: j, segment_size: 1 }\n").find("64Ki") != std::string::npos);
  CHECK(Bad("metrics: { listen: here }\n").find("HOST:PORT") != std::string::npos);
  CHECK(Bad("probes: { listen: here }\n").find("engine.yaml:1: probes.listen: \"here\"") == 0);
  CHECK(Bad("probes: { listen: \"0.0.0.0:1\", wedged_after_s: 0 }\n").find("probes.wedged_after_s: \"0\"") !=
        std::string::npos);
  CHECK(Bad("listen: 0.0.0.0:9101\n") ==
        "engine.yaml:1: listen: \"0.0.0.0:9101\", expected "
        "127.0.0.1:PORT or another loopback address");
  CHECK(Bad("- a list\n").find("a map of fields") != std::string::npos);
}

TEST_CASE("What a running engine cannot take over is named") {
  Config from, to;
  to.engine.seed = 3;
  to.log.level = LogLevel::kDebug;
  CHECK(NeedRestart(from, to).empty());
  to.server.socket = "/other";
  to.journal.emplace();
  to.wedged_after_s = 1;
  CHECK(NeedRestart(from, to) ==
        std::vector<std::string>{"journal", "probes.wedged_after_s", "socket"});
}

}  // namespace
}  // namespace tephra
