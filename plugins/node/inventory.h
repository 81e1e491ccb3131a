// Inventory: the GPUs of this node, read from the driver and the node's configuration, and the forms
// in which they are published to the cluster.
//
// Each form is a pure function of the same Gpus, so the publisher compares it with the last one and
// writes only what has changed. Nothing in them changes by itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/node/gpu.h"
#include "plugins/node/kubelet/slots.h"
#include "plugins/node/nvml/nvml.h"
#include "topology/base/status.h"

namespace tephra::node {

// How devices may be used. A field of the first group that is set restricts it to devices that it
// fits; of several rules the first that fits a device counts.
struct DeviceRule {
  std::optional<std::size_t> index;
  std::string uuid;
  std::string model;  // a part of the name, in any case

  bool reserved = false;  // for pods of other schedulers, whole
  SliceModes modes = kUsualModes;
  std::int32_t split_count = 0;
  std::int32_t mps_clients = kUsualMpsClients;
  std::int32_t replicas = 0;
  std::int32_t compute_factor = kNoFactor;
  std::int32_t memory_factor = kNoFactor;
};

struct NodeConfig {
  std::vector<DeviceRule> rules;  // none fits: the usual modes
  std::int32_t slots_per_gpu = kUsualSlotsPerGpu;
};

// Annotations of the node.
constexpr const char* kInventoryKey = "tephra.sh/gpu-inventory";
constexpr const char* kVgpuRegisterKey = "volcano.sh/node-vgpu-register";

struct Reading {
  Gpus gpus;
  std::vector<std::string> problems;  // what an administrator should know, in words
};

// The GPUs as the driver reports them now. A GPU of `before` that the driver no longer reports stays
// in its place, unhealthy.
absl::StatusOr<Reading> ReadGpus(const Nvml& nvml, const NodeConfig& config, const Gpus& before);

// Applies the configuration to what the driver says of a device. `takes_reset`: a change of MIG
// mode does. `mig_model`: of which it is, as topology/mig.h names it, or none.
void ApplyRules(const NodeConfig& config, std::size_t index, bool takes_reset,
                const std::string& mig_model, Gpu& gpu);

// As the scheduler is to see them: no more containers share a GPU than it has slots, so that
// slots never run out before GPUs do.
Gpus WithinSlots(Gpus gpus, std::int32_t slots_per_gpu);

// Of kInventoryKey, version 1 (docs/reference/annotations.md). ResourceExhausted: it
// would be longer than a reader takes.
constexpr std::size_t kMaxInventoryBytes = 256 << 10;
absl::StatusOr<std::string> FormatInventory(const Gpus& gpus);

// Of kVgpuRegisterKey, as Volcano's own vGPU device plugin writes it.
std::string FormatVgpuRegister(const Gpus& gpus, const NodeConfig& config);

// Amounts for the node's status under the names that Volcano's vGPU device plugin has, for stock
// tools: as many as share all devices; memory in MiB and cores (100 a GPU) of
// the healthy devices.
std::map<std::string, std::int64_t> ExtendedResources(const Gpus& gpus, const NodeConfig& config);

// The labels of NVIDIA's GPU Feature Discovery that are known here; of the first device if models
// differ. `driver` and `cuda` are Nvml's; empty and 0: not known.
std::map<std::string, std::string> FeatureLabels(const Gpus& gpus, const std::string& driver,
                                                 int cuda);

}  // namespace tephra::node
