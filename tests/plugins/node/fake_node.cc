#include "tests/plugins/node/fake_node.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <fstream>

#include <catch2/catch.hpp>

namespace tephra::node {

FakeNode::FakeNode(const std::string& machine) {
  // In memory where there is such a file system: the machine's files change with every request.
  const std::filesystem::path memory = "/dev/shm";
  const auto parent =
      std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
  std::string name = (parent / "tephra-node-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  folder_ = name;
  std::ofstream(folder_ / "machine.json") << machine;
  Restart();
}

FakeNode::~FakeNode() {
  nvml_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void FakeNode::Restart() {
  nvml_.reset();
  const auto set = [&](const char* name, const std::filesystem::path& path) {
    setenv(name, path.c_str(), 1);
  };
  set("TEPHRA_FAKE_NVML", folder_ / "machine.json");
  set("TEPHRA_FAKE_NVML_STATE", folder_ / "state");
  set("TEPHRA_FAKE_NVML_CONTROL", folder_ / "control.json");
  set("TEPHRA_FAKE_NVML_ROOT", folder_);
  absl::StatusOr<std::unique_ptr<Nvml>> nvml =
      Nvml::Load({TEPHRA_FAKE_NVML_LIBRARY, (folder_ / "sys").string()});
  INFO(nvml.status().ToString());
  REQUIRE(nvml.ok());
  nvml_ = *std::move(nvml);
}

void FakeNode::Reboot() {
  nvml_.reset();
  std::filesystem::remove(folder_ / "state");
  std::filesystem::remove_all(folder_ / "proc");
  Restart();
}

void FakeNode::Control(const std::string& json) {
  std::ofstream(folder_ / "control.new") << json;
  std::filesystem::rename(folder_ / "control.new", folder_ / "control.json");
}

Gpus FakeNode::Read(const NodeConfig& config) const {
  absl::StatusOr<Reading> reading = ReadGpus(*nvml_, config, {});
  INFO(reading.status().ToString());
  REQUIRE(reading.ok());
  return reading->gpus;
}

FakeNode::Counts FakeNode::counts() const {
  void* library = dlopen(TEPHRA_FAKE_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto ask =
      reinterpret_cast<int (*)(std::uint64_t*)>(dlsym(library, "tephraFakeNvmlCounts"));
  std::uint64_t counts[3] = {};
  REQUIRE(ask(counts) == 0);
  dlclose(library);
  return {counts[0], counts[1], counts[2]};
}

NodeConfig AllMay(SliceModes modes) {
  NodeConfig config;
  config.rules.emplace_back().modes = modes;
  return config;
}

}  // namespace tephra::node
