// Device: one physical GPU on a node, and Slice: the part of one Device given to one container.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "topology/base/ids.h"

namespace tephra {

// How a device is shared. All slices of a device have the same mode at a time.
enum class SliceMode : std::uint8_t {
  kWhole,      // the device for this task alone
  kFraction,   // a share of compute and memory, enforced by the hook library
  kMps,        // the same, enforced by NVIDIA's Multi-Process Service
  kTimeSlice,  // time slicing, as one of its replicas
  kMig,        // a Multi-Instance GPU (MIG) instance
};
constexpr std::size_t kSliceModes = 5;

using SliceModes = std::uint8_t;  // bit i: mode i
constexpr SliceModes Only(SliceMode mode) {
  return static_cast<SliceModes>(1u << static_cast<unsigned>(mode));
}
constexpr SliceModes kUsualModes = Only(SliceMode::kWhole) | Only(SliceMode::kFraction);

// The most contexts of one MPS server since Volta (NVIDIA MPS documentation).
constexpr std::int32_t kUsualMpsClients = 48;
// The oversubscription of a device, in per mille: from once to ten times its capacity.
constexpr std::int32_t kNoFactor = 1000;
constexpr std::int32_t kMostFactor = 10'000;

// The properties of a card, and how it may be shared.
struct DeviceHardware {
  std::string uuid{};   // empty if the source has none
  std::string model{};  // e.g. "H100"; empty matches only tasks that name no model
  std::int32_t memory_mib = 0;
  bool healthy = true;  // an unhealthy device keeps its tasks and gets no new task
  // The allowed modes. An idle device changes its mode without a reset; a device that cannot do
  // that has only one mode here.
  SliceModes modes = kUsualModes;
  // The most fractions at a time. 0: no bound.
  std::int32_t split_count = 0;
  std::int32_t mps_clients = kUsualMpsClients;  // at least 1
  std::int32_t replicas = 0;                    // of time slices; 0: no bound
  // Oversubscription of compute and memory by fractions; 1000 per mille is the capacity.
  std::int32_t compute_factor = kNoFactor;
  std::int32_t memory_factor = kNoFactor;
  std::string mig_model{};  // a name of topology/mig.h; empty: no known MIG model

  bool may(SliceMode mode) const { return (modes & Only(mode)) != 0; }
  // Zero while the device is unhealthy. Above the capacity with oversubscription.
  std::int32_t shareable_compute() const { return healthy ? compute_factor : 0; }
  std::int64_t shareable_memory_mib() const {
    return healthy ? std::int64_t{memory_mib} * memory_factor / kNoFactor : 0;
  }
  bool operator==(const DeviceHardware&) const = default;
};

// Equal but for their names, so any rule that names no device treats them the same.
inline bool SameHardware(const DeviceHardware& a, const DeviceHardware& b) {
  return a.memory_mib == b.memory_mib && a.healthy == b.healthy && a.modes == b.modes &&
         a.split_count == b.split_count && a.mps_clients == b.mps_clients &&
         a.replicas == b.replicas && a.compute_factor == b.compute_factor &&
         a.memory_factor == b.memory_factor && a.model == b.model && a.mig_model == b.mig_model;
}

// What tasks use of a device: plain sums, modulo the width of each, so that undo is exact even if
// facts contradict each other.
struct DeviceUse {
  std::array<std::uint16_t, kSliceModes> slices{};  // by mode
  // How many MIG instances use each limit of the model, and each memory slice (topology/mig.h): a
  // nibble each.
  std::uint16_t mig_limits = 0;
  std::uint32_t mig_slices = 0;
  // The sum of the user ids of MPS slices. They have one user if it is their number times the id.
  std::uint32_t mps_users = 0;

  void Add(const DeviceUse& more, int sign) {
    for (std::size_t m = 0; m < kSliceModes; ++m) {
      slices[m] = static_cast<std::uint16_t>(slices[m] + sign * more.slices[m]);
    }
    mig_limits = static_cast<std::uint16_t>(mig_limits + sign * more.mig_limits);
    mig_slices += static_cast<std::uint32_t>(sign) * more.mig_slices;
    mps_users += static_cast<std::uint32_t>(sign) * more.mps_users;
  }
  int of(SliceMode mode) const { return slices[static_cast<std::size_t>(mode)]; }
  int all() const { return slices[0] + slices[1] + slices[2] + slices[3] + slices[4]; }
  bool operator==(const DeviceUse&) const = default;
};

// What a charge changes. Free amounts are below zero if foreign pods or a smaller device overcommit
// the device; a charge and its undo stay exact.
struct DeviceRow {
  std::int32_t free_compute = 0;  // per mille of the device
  DeviceUse use;
  std::int64_t free_memory_mib = 0;

  int users() const { return use.all(); }  // slices of the device
  bool operator==(const DeviceRow&) const = default;
};

// A Slice counts both in 16 bits.
constexpr std::size_t kMaxDevices = 0xffff;     // of a node
constexpr std::size_t kMaxContainers = 0xffff;  // of a pod

struct Slice {
  std::uint16_t container = 0;  // index into the pod's containers
  std::uint16_t device = 0;     // index on the node
  SliceMode mode = SliceMode::kWhole;
  std::int32_t compute = 0;  // per mille
  std::int32_t memory_mib = 0;
  // Of kMig only: the index of the profile in the device's MIG model, and the first memory slice of
  // the instance.
  std::uint8_t mig_profile = 0;
  std::uint8_t mig_start = 0;

  bool operator==(const Slice&) const = default;
};

using Slices = std::vector<Slice>;

}  // namespace tephra
