// Grant: what a container of this node was given, as the annotation `tephra.sh/slices` says
// (docs/reference/annotations.md), each slice matched with the GPU that it is of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/device.h"

namespace tephra::node {

// Which container. A nonce stands for one container of one pod for as long as the kubelet keeps
// its allocation, restarts of the container included.
struct Holder {
  std::string nonce;
  std::string pod_uid;
  std::string pod_namespace;
  std::string pod_name;
  std::string container;

  bool operator==(const Holder&) const = default;
};

struct GrantedSlice {
  std::size_t gpu = 0;  // index into Gpus::devices
  SliceMode mode = SliceMode::kWhole;
  std::int32_t compute = 0;     // per mille of the GPU; 0: no share is reserved
  std::int32_t memory_mib = 0;  // of a whole GPU: all of it
  std::string mig_profile;      // of kMig only, as nvidia-smi names it: "1g.10gb"
  int mig_start = 0;            // of kMig only: its first memory slice

  bool operator==(const GrantedSlice&) const = default;
};

struct Grant {
  Holder holder;
  std::vector<GrantedSlice> slices;

  bool operator==(const Grant&) const = default;
};

}  // namespace tephra::node
