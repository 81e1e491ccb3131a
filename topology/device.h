// Device: one physical GPU on a node, and Slice: the part of one Device given to one container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "topology/base/ids.h"

namespace tephra {

// What never changes while the card stays in its slot.
struct DeviceHardware {
  std::string uuid;   // empty where the source names none
  std::string model;  // e.g. "H100"; empty matches only tasks that name no model
  std::int32_t memory_mib = 0;
  bool healthy = true;  // an unhealthy device keeps its tasks and takes no new one

  bool operator==(const DeviceHardware&) const = default;
};

// What a charge moves. Free amounts go below zero where foreign pods or a shrunk device
// over-committed it; a charge and its undo stay exact.
struct DeviceRow {
  std::int32_t free_compute = 0;  // per mille of the device
  std::int64_t free_memory_mib = 0;
  std::int32_t users = 0;  // tasks that hold a slice of it

  bool operator==(const DeviceRow&) const = default;
};

enum class SliceMode : std::uint8_t {
  kWhole,     // the device for this task alone
  kFraction,  // a share of compute and memory beside other tasks
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

  bool operator==(const Slice&) const = default;
};

using Slices = std::vector<Slice>;

}  // namespace tephra
