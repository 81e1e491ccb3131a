// A node of equal GPUs, and folders to write in, for tests of the node plugin.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "plugins/node/partition/partitioner.h"

namespace tephra::node {

// GPU-0, GPU-1, ...; the first half on NUMA node 0, the others on 1.
inline Gpus SomeGpus(int count, std::int32_t memory_mib = 10'000) {
  Gpus gpus;
  for (int i = 0; i < count; ++i) {
    Gpu gpu;
    gpu.hardware.uuid = "GPU-" + std::to_string(i);
    gpu.hardware.model = "H100";
    gpu.hardware.memory_mib = memory_mib;
    gpu.minor = i;
    gpu.numa = i * 2 / count;
    gpus.devices.push_back(gpu);
  }
  return gpus;
}

// As a new process begins: it remembers what lives, and removes what an earlier process left.
inline absl::Status Restore(Partitioner& partitioner, const std::vector<Grant>& live,
                            const Gpus& gpus) {
  partitioner.Remember(live, gpus);
  absl::Status first;
  for (const std::string& uuid : partitioner.Leftovers(gpus)) {
    first.Update(partitioner.Tidy(uuid, gpus));
  }
  return first;
}

// An empty folder, which is removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "tephra-node-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tephra::node
