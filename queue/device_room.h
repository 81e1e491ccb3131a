// DeviceRoom: the rules for sharing one device. Given the device and its slices, they say whether
// one more slice fits. Scores decide which device is best.
//
//   whole       the device has no other slice
//   fraction    compute and memory within the oversubscribed amounts, slices within the split count
//   MPS         compute and memory within the device, one user, clients within their limit
//   time slice  compute and memory within the device, slices within the replicas
//   MIG         the driver would find a place for the instance
//
// All slices of a device have the same mode. The mode may change while the device has no slice.
//
// Sources: NVIDIA MPS documentation (one user's clients at a time, 48 of them), MIG User Guide, the
// configuration of NVIDIA's k8s-device-plugin (replicas) and of HAMi (split count, scaling). Pure,
// no thread rule.
#pragma once

#include <cstdint>
#include <span>

#include "queue/job.h"
#include "topology/mig.h"

namespace tephra {

// A device and its use. `mig`: null if the device is not partitioned by MIG.
struct DeviceState {
  const DeviceHardware& hardware;
  const MigPlacements* mig;
  const DeviceRow& row;
};

// What one slice takes of a device beside compute and memory.
DeviceUse UseOf(const Slice& slice, const MigPlacements* mig, std::uint32_t user_id);
// What all instances on a device take together.
MigTaken MigTakenOf(const DeviceUse& use, const MigPlacements& mig);

// Whether the device allows the requested mode, whatever its slices are.
bool MayServe(const DeviceHardware& hardware, const MigPlacements* mig,
              const DeviceRequest& request);
// Whether one more slice fits. `request` has its amounts (WithAmounts).
bool HasRoom(const DeviceState& device, const DeviceRequest& request, std::uint32_t user_id);
// How many more slices fit. Exact: they fit one after another, wherever each one is placed.
std::int32_t RoomFor(const DeviceState& device, const DeviceRequest& request,
                     std::uint32_t user_id);
// The slice; a MIG instance at the place that leaves the most worth (topology/mig.h).
// REQUIRES: HasRoom.
Slice SliceOf(const DeviceState& device, const DeviceRequest& request, std::uint16_t container,
              std::uint16_t index);
// Whether the slices of the device exceed nothing and break no rule, if `user` owns one of them.
bool Sound(const DeviceState& device, std::uint32_t user_id);

}  // namespace tephra
