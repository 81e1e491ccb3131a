// Room: the oracle. What is free on a small cluster, kept in the plainest way, and whether a gang
// has any placement there, found by trying all of them.
//
// It shares no code with the policies that it judges: it walks through a pod's life phase by phase
// instead of using TaskClass, and tries every set of devices. Only CheckNode's verdict on labels
// and taints is taken over (tests/topology proves it case by case).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/occupancy.h"
#include "queue/job.h"
#include "topology/node.h"

namespace tephra {

// One role's part of a gang: between `least` and `most` tasks of one template.
struct RoleWish {
  PodTemplate pod;
  int least = 0;
  int most = 0;
};
struct GangWish {
  std::vector<RoleWish> roles;
  int least = 0;  // of all roles together
};

// What a pod holds of a resource kind at the peak of its life; device kinds left out.
std::int64_t PeakOf(const PodTemplate& pod, Kind kind);

// Kinds that a host has, without its devices.
inline constexpr Kind kHostKinds[] = {kCpu, kMemory, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

class Room {
 public:
  using Masks = std::map<std::string, std::set<std::string>>;  // excluded nodes by mask
  // Without masks none counts; with them one that is not there excludes every node. `models`: those
  // of which devices are counted by themselves.
  explicit Room(const std::map<std::string, NodeSpec>& nodes, const Masks* masks = nullptr,
                ModelKinds models = {});

  // Takes (+1) or gives back (-1) what the pod holds there. A node that is not there: nothing.
  void Take(const PodTemplate& pod, const std::string& node, const Slices& slices, int sign = +1);
  // Empty if the node may take the pod on these slices and has all of it free; else what is wrong.
  std::string Refuses(const PodTemplate& pod, const std::string& node, const Slices& slices) const;
  // Whether the gang's least can be placed, somehow.
  bool AnyPlacement(const GangWish& gang) const;
  // Different states in which one more such task leaves the node's devices, 0 if it does not fit.
  std::size_t WaysOn(const PodTemplate& pod, const std::string& node) const;
  // The state of its devices, the same for states that differ by equal devices alone, whatever
  // their names.
  std::string DevicesText(const std::string& node) const;
  // Empty if the occupancy has the same free, node by node and device by device.
  std::string Differs(const Hardware& hardware, const Occupancy& occupancy) const;
  // Free on all nodes together: CPU, pods, GPU or those of one model. An over-committed device has
  // nothing, and takes nothing from the others.
  std::int64_t Free(Kind kind) const;
  // What the slices take of devices: compute in per mille, memory in MiB.
  static std::pair<std::int64_t, std::int64_t> DeviceAmounts(const PodTemplate& pod,
                                                             const Slices& slices);
  // The same by kind, with what it takes of each model. `node`: null if it is not there.
  static Resources DeviceAmounts(const PodTemplate& pod, const Slices& slices, const NodeSpec* node,
                                 const ModelKinds& models);

 private:
  struct Device {
    DeviceHardware hardware;
    std::int64_t compute = 0, memory = 0;      // free
    std::array<int, kSliceModes> held{};       // slices, by mode
    std::array<int, 12> mig{};                 // instances on each memory slice, and by limit
    std::map<std::uint32_t, int> mps_clients;  // by user

    // All that tells it from another.
    auto Key() const {
      const DeviceHardware& h = hardware;
      return std::tie(h.uuid, h.model, h.memory_mib, h.healthy, h.modes, h.split_count,
                      h.mps_clients, h.replicas, h.compute_factor, h.memory_factor, h.mig_model,
                      compute, memory, held, mig, mps_clients);
    }
    bool operator==(const Device& other) const { return Key() == other.Key(); }
    bool operator<(const Device& other) const { return Key() < other.Key(); }
  };
  // What a pod takes of one device at the peak of its life, each amount by itself.
  struct Share {
    std::int64_t compute = 0, memory = 0;
    std::array<int, kSliceModes> held{};
    std::array<int, 12> mig{};
    bool clash = false;  // one container has it whole while another has a part
    int fractions = 0;   // before or after one has it whole, too
  };
  struct Node {
    const NodeSpec* spec;
    Resources free;
    std::vector<Device> devices;
  };
  using Devices = std::vector<Device>;
  using Domain = std::tuple<std::string, std::string, std::string>;  // group, key, value

  class Search;
  static std::string TextOf(Devices devices);
  static std::map<int, Share> DeviceShares(const PodTemplate& pod, const Slices& slices,
                                           const Devices* devices);
  static std::string Breaks(const Device& device, const Share& share, std::uint32_t user_id);
  static void Put(Device& device, const Share& share, std::uint32_t user_id, int sign);
  static std::string DomainValue(const NodeSpec& spec, const std::string& key);
  std::string HostRefuses(const PodTemplate& pod, const Node& node) const;
  // Places of the node that are taken once the limit's task runs, too; and whether the task takes one.
  std::pair<int, bool> PlacesWith(const DomainLimit& limit, const Node& node) const;
  std::vector<Devices> DeviceWays(const PodTemplate& pod, const Node& node) const;
  void TakeHost(const PodTemplate& pod, Node& node, int sign);
  std::int64_t FreeOn(const Node& node, Kind kind) const;

  std::vector<Node> nodes_;  // by name
  const Masks* masks_;
  ModelKinds models_;
  // Tasks by the bound that each brought, and how many of them are of the group.
  std::map<Domain, std::map<int, std::pair<int, int>>> held_;
  // Of a limit of the node, by group and node: how many tasks have each name; "": places without a name.
  std::map<std::pair<std::string, std::string>, std::map<std::string, int>> places_;
};

}  // namespace tephra
