// What slices a pod may get of a device, by the facts alone: the room that judges plans asks this.
#pragma once

#include <cstddef>
#include <vector>

#include "queue/job.h"
#include "topology/device.h"

namespace tephra::slice_rules {

// The containers that run at the same time, phase by phase: each init container beside the
// sidecars before it, and at last all containers that stay.
std::vector<std::vector<std::size_t>> Phases(const PodTemplate& pod);

// Every slice that such a device could give for the request, used or not.
Slices SlicesOf(const DeviceRequest& asked, const DeviceHardware& hardware);

// Whether the slice is one of SlicesOf.
bool IsInstance(Slice slice, const DeviceRequest& asked, const DeviceHardware& hardware);

// Whether one task has one device in two modes, at any time. Whole, and in part by the hook
// library, is one mode.
bool MixesModes(const Slices& slices);

}  // namespace tephra::slice_rules
