// FakeNode: a machine of the fake NVML for one test: its files in a folder of its own, and the
// driver loaded again whenever the test wants.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "plugins/node/inventory.h"
#include "plugins/node/nvml/nvml.h"

namespace tephra::node {

class FakeNode {
 public:
  // `machine`: as tests/tools/fake_nvml/machine.h describes it.
  explicit FakeNode(const std::string& machine);
  ~FakeNode();
  FakeNode(const FakeNode&) = delete;
  FakeNode& operator=(const FakeNode&) = delete;

  const Nvml& nvml() const { return *nvml_; }
  // As when the plugin is started again: what the hardware remembers stays.
  void Restart();
  // As when the machine is: it remembers nothing.
  void Reboot();
  // The content of the control file, tests/tools/fake_nvml/control.h.
  void Control(const std::string& json);

  Gpus Read(const NodeConfig& config = {}) const;
  std::string capabilities() const {
    return (folder_ / "proc/driver/nvidia/capabilities").string();
  }
  const std::filesystem::path& folder() const { return folder_; }

  struct Counts {
    std::uint64_t illegal = 0, created = 0, destroyed = 0;
  };
  Counts counts() const;

 private:
  std::filesystem::path folder_;
  std::unique_ptr<Nvml> nvml_;
};

constexpr SliceModes kMigOnly = Only(SliceMode::kMig);
// The only rule of a configuration: all devices may be in these modes.
NodeConfig AllMay(SliceModes modes);

}  // namespace tephra::node
