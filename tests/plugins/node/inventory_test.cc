#include "plugins/node/inventory.h"

#include <catch2/catch.hpp>

#include "tests/plugins/node/fake_node.h"

namespace tephra::node {
namespace {

constexpr SliceModes kAllModes = 0b11111;

Gpus TwoL40s() {
  Gpus gpus;
  for (int i = 0; i < 2; ++i) {
    Gpu& gpu = gpus.devices.emplace_back();
    gpu.hardware.uuid = "GPU-" + std::to_string(i);
    gpu.hardware.model = "NVIDIA L40S";
    gpu.hardware.memory_mib = 46068;
    gpu.numa = i;
  }
  gpus.links = NodeLinks(2);
  return gpus;
}

TEST_CASE("Inventory: a plain node's annotation says what differs from the usual, and no more") {
  Gpus gpus = TwoL40s();
  gpus.devices[1].hardware.healthy = false;
  CHECK(*FormatInventory(gpus) ==
        R"({"version":1,"devices":[)"
        R"({"uuid":"GPU-0","model":"NVIDIA L40S","memoryMiB":46068,"healthy":true,"numa":0},)"
        R"({"uuid":"GPU-1","model":"NVIDIA L40S","memoryMiB":46068,"healthy":false,)"
        R"("links":["SYS"],"numa":1}]})");
  CHECK(*FormatInventory({}) == R"({"version":1,"devices":[]})");
}

TEST_CASE("Inventory: every field of a device's use is published when it is set") {
  Gpus gpus = TwoL40s();
  gpus.devices.pop_back();
  gpus.links = {};
  gpus.devices[0].numa = -1;
  DeviceHardware& hardware = gpus.devices[0].hardware;
  hardware.uuid.clear();
  hardware.modes = kAllModes;
  hardware.split_count = 4;
  hardware.mps_clients = 16;
  hardware.replicas = 3;
  hardware.compute_factor = 2000;
  hardware.memory_factor = 1500;
  hardware.mig_model = "A100-40GB";
  CHECK(*FormatInventory(gpus) ==
        R"({"version":1,"devices":[{"model":"NVIDIA L40S","memoryMiB":46068,"healthy":true,)"
        R"("modes":["whole","fraction","mps","timeSlice","mig"],"splitCount":4,"mpsClients":16,)"
        R"("replicas":3,"computeFactor":2000,"memoryFactor":1500,"migModel":"A100-40GB"}]})");
}

TEST_CASE("Inventory: one that no reader would take is refused, strange names are not") {
  Gpus gpus;
  gpus.devices.resize(3000);
  for (Gpu& gpu : gpus.devices) gpu.hardware.model = std::string(80, 'x');
  CHECK(absl::IsResourceExhausted(FormatInventory(gpus).status()));
  gpus.devices.resize(1);
  gpus.devices[0].hardware.model = "\"\xff\n";
  CHECK(FormatInventory(gpus)->find(R"("model":"\"�\n")") != std::string::npos);
}

TEST_CASE("Inventory: Volcano's form tells the same, without colons in names") {
  Gpus gpus = TwoL40s();
  gpus.devices[0].hardware.split_count = 5;
  gpus.devices[1].hardware.model = "a:b,c";
  gpus.devices[1].hardware.healthy = false;
  gpus.devices[1].hardware.modes = kMigOnly;
  CHECK(FormatVgpuRegister(gpus, {}) ==
        "GPU-0,5,46068,NVIDIA-NVIDIA L40S,true,hami-core:"
        "GPU-1,10,46068,NVIDIA-a-b-c,false,mig:");
}

TEST_CASE("Inventory: resources count ten slots a GPU, and memory and cores of healthy ones") {
  Gpus gpus = TwoL40s();
  gpus.devices[1].hardware.healthy = false;
  gpus.devices[0].hardware.memory_factor = 2000;
  const std::map<std::string, std::int64_t> expected = {{"volcano.sh/vgpu-number", 20},
                                                        {"volcano.sh/vgpu-memory", 92136},
                                                        {"volcano.sh/vgpu-cores", 100}};
  CHECK(ExtendedResources(gpus, {}) == expected);
}

TEST_CASE("Inventory: labels are those of GPU Feature Discovery") {
  const FakeNode node(R"({"model": "A100-40GB", "count": 8})");
  const auto labels = FeatureLabels(node.Read(), "550.54.15", 12040);
  CHECK(labels.at("nvidia.com/gpu.product") == "NVIDIA-A100-SXM4-40GB");
  CHECK(labels.at("nvidia.com/gpu.memory") == "40960");
  CHECK(labels.at("nvidia.com/gpu.count") == "8");
  CHECK(labels.at("nvidia.com/gpu.family") == "ampere");
  CHECK(labels.at("nvidia.com/mig.capable") == "true");
  CHECK(labels.at("nvidia.com/mps.capable") == "false");
  CHECK(labels.at("nvidia.com/cuda.driver-version.major") == "550");
  CHECK(labels.at("nvidia.com/cuda.driver-version.revision") == "15");
  CHECK(labels.at("nvidia.com/cuda.runtime-version.minor") == "4");
  CHECK(FeatureLabels({}, "550", 0).empty());
}

TEST_CASE("Inventory: devices stand in the order of their PCI addresses, with their links") {
  const FakeNode node(
      R"({"gpus": [{"model": "NVIDIA L40S", "bus": 200}, {"model": "Tesla T4", "bus": 9}],
                          "topo": "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n"})");
  const Gpus gpus = node.Read();
  REQUIRE(gpus.devices.size() == 2);
  CHECK(gpus.devices[0].hardware.model == "Tesla T4");
  CHECK(gpus.devices[0].minor == 1);
  CHECK(LinkName(gpus.links.at(0, 1)) == "PIX");
  CHECK(gpus.devices[0].hardware.modes == kUsualModes);
}

TEST_CASE("Inventory: the first rule that fits counts, by index, UUID or model") {
  const FakeNode node(R"({"gpus": [{"model": "H100-80GB"}, {"model": "H100-80GB", "uuid": "GPU-b"},
                                   {"model": "H100-80GB"}, {"model": "Tesla T4"}]})");
  NodeConfig config;
  config.rules.resize(4);
  config.rules[0].index = 0;
  config.rules[0].modes = kMigOnly;
  config.rules[1].uuid = "GPU-b";
  config.rules[1].modes = Only(SliceMode::kMps);
  config.rules[2].model = "h100";
  config.rules[2].split_count = 2;
  config.rules[3].modes = kMigOnly;
  const Gpus gpus = node.Read(config);
  CHECK(gpus.devices[0].hardware.modes == kMigOnly);
  CHECK(gpus.devices[0].hardware.mig_model == "H100-80GB");
  CHECK(gpus.devices[1].hardware.modes == Only(SliceMode::kMps));
  CHECK(gpus.devices[2].hardware.modes == kUsualModes);
  CHECK(gpus.devices[2].hardware.split_count == 2);
  // A T4 knows no MIG.
  CHECK_FALSE(gpus.devices[3].hardware.healthy);
  CHECK(gpus.devices[3].unhealthy ==
        "none of the modes that the node's configuration names is possible");
}

TEST_CASE("Inventory: a reserved device is published as one that takes no pod") {
  const FakeNode node(R"({"model": "H100-80GB", "count": 2})");
  NodeConfig config;
  config.rules.resize(1);
  config.rules[0].index = 1;
  config.rules[0].reserved = true;
  const Gpus gpus = node.Read(config);
  CHECK_FALSE(gpus.devices[0].reserved);
  CHECK(gpus.devices[1].reserved);
  CHECK(gpus.devices[1].hardware.healthy);
  const std::string text = *FormatInventory(gpus);
  CHECK(text.find("\"reserved\"") > text.rfind("\"uuid\""));
  CHECK(text.find("\"healthy\":false,\"reserved\":true") != std::string::npos);
  CHECK(ExtendedResources(gpus, config).at("volcano.sh/vgpu-memory") ==
        gpus.devices[0].hardware.memory_mib);
  CHECK(FormatVgpuRegister(gpus, config).find(",false,hami-core:") != std::string::npos);
}

TEST_CASE("Inventory: a card that needs a reset for MIG is in the modes of one side of it") {
  const FakeNode node(R"({"gpus": [{"model": "A100-40GB"}, {"model": "A100-40GB", "mig": true},
                                   {"model": "H100-80GB", "mig": true}]})");
  const Gpus gpus = node.Read(AllMay(kUsualModes | kMigOnly));
  CHECK(gpus.devices[0].hardware.modes == kUsualModes);
  CHECK(gpus.devices[1].hardware.modes == kMigOnly);
  CHECK(gpus.devices[2].hardware.modes == (kUsualModes | kMigOnly));
  const Gpus plain = node.Read();
  CHECK(plain.devices[0].hardware.healthy);
  CHECK_FALSE(plain.devices[1].hardware.healthy);
  CHECK(plain.devices[2].unhealthy ==
        "its MIG mode is on, which the node's configuration does not provide for");
}

TEST_CASE("Inventory: a card that is lost keeps its place, unhealthy, until it is back") {
  FakeNode node(R"({"preset": "pcie"})");
  const Gpus before = node.Read();
  node.Control(R"({"gpus": {"2": {"lost": true}}})");
  const Reading lost = *ReadGpus(node.nvml(), {}, before);
  REQUIRE(lost.gpus.devices.size() == 8);
  CHECK(lost.gpus.devices[2].hardware.uuid == before.devices[2].hardware.uuid);
  CHECK_FALSE(lost.gpus.devices[2].hardware.healthy);
  CHECK(lost.gpus.devices[3].hardware.healthy);
  CHECK(lost.gpus.links == before.links);
  CHECK(lost.problems.size() == 1);
  node.Control("{}");
  CHECK(*FormatInventory(ReadGpus(node.nvml(), {}, lost.gpus)->gpus) == *FormatInventory(before));
}

}  // namespace
}  // namespace tephra::node
