// DeviceRoom: the rules by which one device is given in each mode. Who holds it now and what it may
// be used for go in, whether one more slice fits comes out; which device is best is for others.
//
//   whole       nobody else holds a slice of it
//   fraction    the sums of compute and memory stay within what is promised, of so many slices
//   MPS         the sums stay within what there is, all are of one user, so many clients
//   time slice  the sums stay within what there is, so many replicas
//   MIG         the instance finds a place that the driver would give it
//
// All slices held at a time are of one mode; it may change when nobody holds one.
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

// A device in a state. `mig`: null where it is not cut by MIG.
struct DeviceState {
  const DeviceHardware& hardware;
  const MigPlacements* mig;
  const DeviceRow& row;
};

// What one slice takes of a device, amounts aside.
DeviceUse UseOf(const Slice& slice, const MigPlacements* mig, std::uint32_t user_id);
// What the instances on a device take together.
MigTaken MigTakenOf(const DeviceUse& use, const MigPlacements& mig);

// Whether the device may be used so at all, whoever holds it now.
bool MayServe(const DeviceHardware& hardware, const MigPlacements* mig,
              const DeviceRequest& request);
// Whether it has room for one more. `request` with its amounts (WithAmounts).
bool HasRoom(const DeviceState& device, const DeviceRequest& request, std::uint32_t user_id);
// For how many. Exact: one after the other they all find room, wherever each is put.
std::int32_t RoomFor(const DeviceState& device, const DeviceRequest& request,
                     std::uint32_t user_id);
// What it would give; a MIG instance where it leaves the most worth (topology/mig.h).
// REQUIRES: HasRoom.
Slice SliceOf(const DeviceState& device, const DeviceRequest& request, std::uint16_t container,
              std::uint16_t index);
// Whether nothing is given of the device that is not there, or against a rule, one of those that
// hold it being of that user.
bool Sound(const DeviceState& device, std::uint32_t user_id);

}  // namespace tephra
