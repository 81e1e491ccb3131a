// A file that says which GPUs there are.
#include "plugins/node/gpu_file.h"

#include <fstream>

#include <catch2/catch.hpp>

#include "plugins/node/device_rules.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

std::string Wrong(const std::string& device) {
  return std::string(ParseGpuFile("f", R"({"devices": [)" + device + "]}").status().message());
}

TEST_CASE("A GPU file has what the scheduler and the node need") {
  const auto gpus = ParseGpuFile("f", R"({"devices": [
    {"uuid": "GPU-a", "model": "H100", "memoryMiB": 81559, "numa": 1, "modes": ["mig"],
     "migModel": "H100-80GB", "migMode": true},
    {"uuid": "GPU-b", "memoryMiB": 1, "minor": 7, "unhealthy": "Xid 79", "splitCount": 4}]})");
  INFO(gpus.status().ToString());
  REQUIRE(gpus.ok());
  CHECK(gpus->devices[0].hardware.modes == Only(SliceMode::kMig));
  CHECK(gpus->devices[0].numa == 1);
  CHECK(gpus->devices[0].mig_mode);
  CHECK(gpus->devices[1].minor == 7);
  CHECK_FALSE(gpus->devices[1].hardware.healthy);
  CHECK(gpus->devices[1].hardware.split_count == 4);
}

TEST_CASE("A GPU file that is wrong is refused by field") {
  CHECK(Wrong(R"({"uuid": "a", "memoryMiB": 0})") ==
        "f: devices[0].memoryMiB: \"0\", expected a whole number from 1 to 1073741824");
  CHECK(Wrong(R"({"uuid": "a"})") ==
        "f: devices[0].memoryMiB: \"absent\", expected a whole number from 1");
  CHECK(Wrong(R"({"uuid": "a", "memoryMiB": 1}, {"uuid": "a", "memoryMiB": 1})") ==
        "f: devices[1].uuid: \"a\", expected a UUID, each once");
  CHECK(Wrong(R"({"uuid": "a", "memoryMiB": 1, "modes": ["half"]})") ==
        "f: devices[0].modes: \"[\"half\"]\", expected a list of modes");
  CHECK_FALSE(ParseGpuFile("f", "").ok());
}

TEST_CASE("The rules of a node's configuration are read, and what is wrong in them is named") {
  const TemporaryFolder at;
  const std::string path = at.path() + "/node.yaml";
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return ReadDeviceRules(path);
  };
  const auto rules =
      read("devices:\n- { index: 6, reserved: true }\n- { model: A100, modes: [mig] }\n");
  REQUIRE(rules.ok());
  REQUIRE(rules->size() == 2);
  CHECK(rules->at(0).index == 6);
  CHECK(rules->at(0).reserved);
  CHECK(rules->at(0).modes == kUsualModes);
  CHECK_FALSE(rules->at(1).reserved);
  CHECK(rules->at(1).modes == Only(SliceMode::kMig));
  const auto wrong = read("devices:\n- { index: 6, reserved: perhaps }\n");
  CHECK(wrong.status().message().find(path + ":2: devices[0].reserved: ") == 0);
}

}  // namespace
}  // namespace tephra::node
