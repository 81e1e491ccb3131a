// Links: the speed between each two GPUs of a node, and the NUMA node of each GPU.
//
// The types have the names of `nvidia-smi topo -m` and NVML (nvmlDeviceGetTopologyCommonAncestor).
// Pure values, no thread rule.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tephra {

// The path between two GPUs, the slowest first.
enum class LinkType : std::uint8_t {
  kSys,     // the interconnect between sockets
  kNode,    // host bridges of one NUMA node
  kPhb,     // a host bridge
  kPxb,     // several PCIe switches
  kPix,     // one PCIe switch
  kNvLink,  // bonded NVLinks, with or without an NVSwitch
};

struct Link {
  std::int32_t mb_per_s = 0;  // in one direction
  LinkType type = LinkType::kSys;
  std::uint8_t nvlinks = 0;  // of kNvLink only

  // The slower link is less.
  auto operator<=>(const Link&) const = default;
};

// The speed of a path without NVLink. Constants of NCCL (src/graph/topo.h): 12 GB/s for 16 lanes of
// PCIe 3.0, 5/6 of that through a host bridge, 6 GB/s between sockets. Paths that NCCL counts as
// equal differ here by 0.1 GB/s, so that the path with fewer hops is better. Only the order
// matters, and it is the same on faster PCIe. REQUIRES: not kNvLink.
Link PcieLink(LinkType type);

// The speed of `nvlinks` bonded NVLinks between GPUs of a model, such as "H100" or
// "NVIDIA A100-SXM4-40GB". NCCL counts 18 to 40.1 GB/s for one NVLink, by generation. An unknown
// model counts like Volta and Ampere, 20 GB/s. REQUIRES: nvlinks > 0.
Link NvLink(int nvlinks, std::string_view model);

std::string LinkName(const Link& link);  // "NV12", "PIX"

// The most GPUs of a node in existing machines (DGX-2 and PCIe boxes: 16).
constexpr int kMaxLinkedGpus = 16;

// The links of one node: a symmetric matrix.
class NodeLinks {
 public:
  static constexpr std::int16_t kNoNuma = -1;  // unknown, or several NUMA nodes

  NodeLinks() = default;  // of 0 GPUs
  // All pairs have the slowest path, and no NUMA node is known.
  // REQUIRES: 0 <= gpus <= kMaxLinkedGpus.
  explicit NodeLinks(int gpus);

  int gpus() const { return static_cast<int>(numa_.size()); }
  // REQUIRES: a != b.
  const Link& at(int a, int b) const { return links_[Index(a, b)]; }
  void Set(int a, int b, const Link& link);
  std::int16_t numa(int gpu) const { return numa_[static_cast<std::size_t>(gpu)]; }
  void SetNuma(int gpu, std::int16_t node) { numa_[static_cast<std::size_t>(gpu)] = node; }

  auto operator<=>(const NodeLinks&) const = default;

 private:
  std::size_t Index(int a, int b) const;

  std::vector<std::int16_t> numa_;  // by GPU
  std::vector<Link> links_;         // by pair, in both orders
};

}  // namespace tephra
