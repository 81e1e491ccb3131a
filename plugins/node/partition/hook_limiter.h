// HookLimiter limits containers to a share of a GPU by HAMi-core's libvgpu.so, which the programs of
// a container load before CUDA (https://github.com/Project-HAMi/HAMi-core). The library limits
// programs that call CUDA through it; a statically linked program bypasses it.
//
// What the library reads, as of its commit 8f3a89c (2026-06-30):
//   CUDA_DEVICE_MEMORY_LIMIT_<i>       of the i-th visible GPU: "8000m"
//   CUDA_DEVICE_SM_LIMIT, ..._<i>      percent of its compute; 0 or 100: no limit
//   CUDA_DEVICE_MEMORY_SHARED_CACHE    the file in which the processes of a container count together
//   GPU_CORE_UTILIZATION_POLICY        "default": the limit holds under contention; "force",
//                                      "disable"
//   ACTIVE_OOM_KILLER                  read, but without effect today
// A container may set the last two itself; they reach it unchanged.
#pragma once

#include <atomic>
#include <mutex>
#include <map>
#include <string>

#include "plugins/node/folder_cleaner.h"
#include "plugins/node/partition/partitioner.h"
#include "plugins/node/problems.h"

namespace tephra::node {

struct HookSettings {
  // Of the host. The name holds the version: a library that running containers have mapped is never
  // overwritten.
  std::string library = "/usr/local/vgpu/libvgpu.so";
  std::string preload = "/usr/local/vgpu/ld.so.preload";  // holds the library's path in containers
  std::string folder = "/var/lib/tephra-node/hook";       // a folder for each container; the locks
};

// A container may fill its folder as it likes, up to a limit. Undo therefore moves the folder away in one step and
// leaves its removal to a FolderCleaner: the slice is free at once.
class HookLimiter final : public Partitioner {
 public:
  // REQUIRES: `problems` outlives it.
  HookLimiter(HookSettings settings, Problems& problems)
      : settings_(std::move(settings)), cleaner_(settings_.folder, problems) {}

  void Remember(const std::vector<Grant>& live, const Gpus& gpus) override;
  std::vector<std::string> Leftovers(const Gpus&) const override { return {""}; }
  // Removes the folders of containers that have neither a remembered nor an applied grant.
  absl::Status Tidy(const std::string& uuid, const Gpus& gpus) override;

  // FAILED_PRECONDITION: the library or the preload file is not installed on the node.
  absl::Status Apply(const Grant& grant, const Gpus& gpus, Edits& edits) override;
  absl::Status Undo(const Grant& grant, const Gpus& gpus) override;

 private:
  absl::Status Discard(const std::string& nonce);

  const HookSettings settings_;
  FolderCleaner cleaner_;
  std::mutex mutex_;
  // Namespaces by nonce, of the containers whose folders are in use.
  std::map<std::string, std::string> live_;
  std::atomic<bool> warned_ = false;
};

}  // namespace tephra::node
