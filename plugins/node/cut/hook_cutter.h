// HookCutter: a share of a GPU beside other pods, kept to by HAMi-core's libvgpu.so, which the
// container's programs load before CUDA (https://github.com/Project-HAMi/HAMi-core). The library
// holds those that go through it; a program that is linked statically goes past it.
//
// What it reads, as of its commit 8f3a89c (2026-06-30):
//   CUDA_DEVICE_MEMORY_LIMIT_<i>       of the i-th visible GPU: "8000m"
//   CUDA_DEVICE_SM_LIMIT, ..._<i>      percent of its compute; 0 or 100: no bound
//   CUDA_DEVICE_MEMORY_SHARED_CACHE    the file by which the container's processes count together
//   GPU_CORE_UTILIZATION_POLICY        "default": the bound holds under contention; "force",
//   "disable" ACTIVE_OOM_KILLER                  read, but nothing acts on it today
// The last two are the container's own to set; they reach it unchanged.
#pragma once

#include <string>

#include "plugins/node/cut/cutter.h"

namespace tephra::node {

struct HookSettings {
  // Of the host. The name holds the version: a library that is mapped by running containers is
  // never written over.
  std::string library = "/usr/local/vgpu/libvgpu.so";
  std::string preload = "/usr/local/vgpu/ld.so.preload";  // holds the library's path in containers
  std::string folder = "/var/lib/tephra-node/hook";       // one folder a container, and the locks
};

class HookCutter final : public Cutter {
 public:
  explicit HookCutter(HookSettings settings) : settings_(std::move(settings)) {}

  // FAILED_PRECONDITION where the library or the preload file is not on the node.
  absl::Status Cut(const Grant& grant, const Gpus& gpus, Edits& edits) override;
  // Removes the container's folder.
  absl::Status Undo(const Grant& grant, const Gpus& gpus) override;

 private:
  const HookSettings settings_;
};

}  // namespace tephra::node
