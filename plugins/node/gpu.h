// Gpu: a device of this node, as the driver names it here. The scheduler gets its `hardware`
// (topology/device.h); the rest is of use on the node alone.
#pragma once

#include <string>
#include <vector>

#include "topology/device.h"
#include "topology/links.h"

namespace tephra::node {

struct Gpu {
  DeviceHardware hardware;
  int minor = 0;           // of /dev/nvidia<minor>
  std::string bus_id;      // PCI, "00000000:3B:00.0"
  int numa = -1;           // NUMA node, -1: not known
  bool mig_mode = false;   // MIG mode is on now
  bool reserved = false;  // for pods of other schedulers alone
  std::string unhealthy;   // why, for people; empty while it is healthy
  int cuda_major = 0;      // compute capability; 0: not known
  int cuda_minor = 0;
};

// The devices of the node, in the order of their PCI addresses, so that a device keeps its index
// while the cards stay in their slots; and the links between them.
struct Gpus {
  std::vector<Gpu> devices;
  NodeLinks links;  // of 0 GPUs where not known
};

}  // namespace tephra::node
