// Links: how fast the GPUs of one node reach each other, and the NUMA node that each is on.
//
// The types are those that `nvidia-smi topo -m` prints and NVML names
// (nvmlDeviceGetTopologyCommonAncestor). Pure values, no thread rule.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tephra {

// What two GPUs have between them, farthest first.
enum class LinkType : std::uint8_t {
  kSys,     // the interconnect between sockets
  kNode,    // host bridges of one NUMA node
  kPhb,     // a host bridge
  kPxb,     // several PCIe switches
  kPix,     // one PCIe switch
  kNvLink,  // bonded NVLinks, through an NVSwitch or not
};

struct Link {
  std::int32_t mb_per_s = 0;  // in one direction
  LinkType type = LinkType::kSys;
  std::uint8_t nvlinks = 0;  // of kNvLink only

  // The slower link is the lesser one.
  auto operator<=>(const Link&) const = default;
};

// Of a path without NVLink. NCCL's constants (src/graph/topo.h): 12 GB/s for 16 lanes of PCIe 3.0,
// 5/6 of that for GPU traffic through a host bridge, 6 GB/s between sockets. What NCCL counts alike
// is set 0.1 GB/s apart, so that the path with fewer hops is the better one: the order is what
// decides, and it is the same on faster PCIe.
// REQUIRES: not kNvLink.
Link PcieLink(LinkType type);

// Of `nvlinks` bonded NVLinks between GPUs of a model, such as "H100" or "NVIDIA A100-SXM4-40GB":
// what NCCL counts for one of that generation, 18 to 40.1 GB/s. An unknown model counts as Volta
// and Ampere do, 20 GB/s.
// REQUIRES: nvlinks > 0.
Link NvLink(int nvlinks, std::string_view model);

std::string LinkName(const Link& link);  // "NV12", "PIX"

// A node has as many GPUs at most in the machines that there are (DGX-2 and PCIe boxes: 16).
constexpr int kMaxLinkedGpus = 16;

// The links of one node: a symmetric matrix.
class NodeLinks {
 public:
  static constexpr std::int16_t kNoNuma = -1;  // not told, or of several NUMA nodes

  NodeLinks() = default;  // of 0 GPUs
  // All pairs linked by the slowest path, no NUMA node known.
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
  std::vector<Link> links_;         // by pair, both ways
};

}  // namespace tephra
