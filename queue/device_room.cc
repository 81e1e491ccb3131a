#include "queue/device_room.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tephra {
namespace {

constexpr std::uint32_t kEachNibble = 0x1111'1111;
constexpr int kMostInstances = 8;  // no model has more memory slices

// Spreads the bits: bit i becomes the lowest bit of nibble i.
std::uint32_t InNibbles(std::uint32_t bits) {
  std::uint32_t nibbles = 0;
  for (; bits != 0; bits &= bits - 1) nibbles |= 1u << 4 * std::countr_zero(bits);
  return nibbles;
}

// What is left of a bound on slices; a bound of 0 means no bound.
std::int32_t Left(std::int32_t bound, int slices) {
  return bound == 0 ? std::numeric_limits<std::int32_t>::max() : bound - slices;
}

// The free part of the real device, without oversubscription.
DeviceRow Physical(const DeviceHardware& hardware, const DeviceRow& row) {
  DeviceRow physical = row;
  physical.free_compute -=
      std::max(hardware.shareable_compute() - static_cast<std::int32_t>(kWholeGpu), 0);
  physical.free_memory_mib -=
      std::max<std::int64_t>(hardware.shareable_memory_mib() - hardware.memory_mib, 0);
  return physical;
}

MigShare ShareOn(const MigPlacements& mig, int profile) {
  return MigShareOf(mig.model(), mig.model().profiles[static_cast<std::size_t>(profile)]);
}

// How many slices of these amounts fit.
std::int32_t Times(const DeviceRow& row, std::int32_t compute, std::int32_t memory_mib) {
  if (row.free_compute < 0 || row.free_memory_mib < 0) return 0;
  std::int64_t times = std::numeric_limits<std::int32_t>::max();
  if (compute > 0) times = std::min<std::int64_t>(times, row.free_compute / compute);
  if (memory_mib > 0) times = std::min(times, row.free_memory_mib / memory_mib);
  return static_cast<std::int32_t>(std::max<std::int64_t>(times, 0));
}

// How many more slices of the mode fit, beside compute and memory.
std::int32_t Sharers(const DeviceState& device, const DeviceRequest& request,
                     std::uint32_t user_id) {
  const DeviceUse& use = device.row.use;
  const SliceMode mode = request.mode();
  const int alike = use.of(mode);
  if (use.all() != alike) return 0;
  switch (mode) {
    case SliceMode::kWhole:
      return alike == 0 ? 1 : 0;
    case SliceMode::kFraction:
      return Left(device.hardware.split_count, alike);
    case SliceMode::kMps: {
      const bool own = use.mps_users == static_cast<std::uint32_t>(alike) * user_id;
      return own ? device.hardware.mps_clients - alike : 0;
    }
    case SliceMode::kTimeSlice:
      return Left(device.hardware.replicas, alike);
    case SliceMode::kMig: {
      // More instances than possible: the taken places are unknown (DeviceUse).
      if (alike > kMostInstances) return 0;
      const int profile = FindMigProfile(device.mig->model(), request.mig_profile);
      return device.mig->Room(MigTakenOf(use, *device.mig), profile);
    }
  }
  return 0;
}

}  // namespace

DeviceUse UseOf(const Slice& slice, const MigPlacements* mig, std::uint32_t user_id) {
  DeviceUse use;
  use.slices[static_cast<std::size_t>(slice.mode)] = 1;
  if (slice.mode == SliceMode::kMps) use.mps_users = user_id;
  if (slice.mode != SliceMode::kMig) return use;
  // An instance without a known place takes the whole device.
  use.mig_slices = kEachNibble;
  if (mig == nullptr || slice.mig_profile >= mig->model().profiles.size()) return use;
  const MigProfile& profile = mig->model().profiles[slice.mig_profile];
  if (slice.mig_start > 7 || (profile.starts >> slice.mig_start & 1) == 0) return use;
  const MigTaken taken = MigFootprint(profile, slice.mig_start);
  use.mig_slices = InNibbles(taken & 0xffu);
  use.mig_limits = static_cast<std::uint16_t>(InNibbles(taken >> 8));
  return use;
}

MigTaken MigTakenOf(const DeviceUse& use, const MigPlacements& mig) {
  unsigned taken = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if ((use.mig_slices >> 4 * i & 0xf) != 0) taken |= 1u << i;
  }
  for (unsigned i = 0; i < 4; ++i) {
    if ((use.mig_limits >> 4 * i & 0xf) != 0) taken |= 0x100u << i;
  }
  return static_cast<MigTaken>(taken & mig.all());
}

bool MayServe(const DeviceHardware& hardware, const MigPlacements* mig,
              const DeviceRequest& request) {
  if (!hardware.may(request.mode())) return false;
  return request.sharing != Sharing::kMig ||
         (mig != nullptr && FindMigProfile(mig->model(), request.mig_profile) >= 0);
}

bool HasRoom(const DeviceState& device, const DeviceRequest& request, std::uint32_t user_id) {
  if (request.sharing != Sharing::kHook) return RoomFor(device, request, user_id) > 0;
  // The usual case, without a division.
  const DeviceRow& row = device.row;
  if (!device.hardware.may(request.mode()) || Sharers(device, request, user_id) <= 0) return false;
  if (request.whole()) return row.free_compute >= kWholeGpu;
  return row.free_compute >= request.compute && row.free_memory_mib >= request.memory_mib &&
         row.free_compute >= 0;
}

std::int32_t RoomFor(const DeviceState& device, const DeviceRequest& request,
                     std::uint32_t user_id) {
  if (!MayServe(device.hardware, device.mig, request)) return 0;
  const std::int32_t sharers = Sharers(device, request, user_id);
  if (sharers <= 0) return 0;
  switch (request.mode()) {
    case SliceMode::kWhole:
      return device.row.free_compute >= kWholeGpu ? 1 : 0;
    case SliceMode::kFraction:
      return std::min(sharers, Times(device.row, request.compute, request.memory_mib));
    case SliceMode::kMps:
    case SliceMode::kTimeSlice:
      return std::min(sharers, Times(Physical(device.hardware, device.row), request.compute,
                                     request.memory_mib));
    case SliceMode::kMig: {
      const MigShare share =
          ShareOn(*device.mig, FindMigProfile(device.mig->model(), request.mig_profile));
      return std::min(
          sharers, Times(Physical(device.hardware, device.row), share.compute, share.memory_mib));
    }
  }
  return 0;
}

Slice SliceOf(const DeviceState& device, const DeviceRequest& request, std::uint16_t container,
              std::uint16_t index) {
  Slice slice{container, index, request.mode(), request.compute, request.memory_mib};
  if (slice.mode == SliceMode::kWhole) slice.memory_mib = device.hardware.memory_mib;
  if (slice.mode != SliceMode::kMig) return slice;
  const int profile = FindMigProfile(device.mig->model(), request.mig_profile);
  const MigShare share = ShareOn(*device.mig, profile);
  slice.compute = share.compute;
  slice.memory_mib = share.memory_mib;
  slice.mig_profile = static_cast<std::uint8_t>(profile);
  slice.mig_start = static_cast<std::uint8_t>(
      device.mig->Choose(MigTakenOf(device.row.use, *device.mig), profile).value_or(0));
  return slice;
}

bool Sound(const DeviceState& device, std::uint32_t user_id) {
  const DeviceHardware& hardware = device.hardware;
  const DeviceUse& use = device.row.use;
  for (std::size_t m = 0; m < kSliceModes; ++m) {
    if (use.slices[m] == 0) continue;
    const SliceMode mode = static_cast<SliceMode>(m);
    if (use.slices[m] != use.all() || !hardware.may(mode)) return false;
    // A task may have fractions of a device before or after it has the whole device.
    const bool oversubscribed = mode == SliceMode::kFraction || mode == SliceMode::kWhole;
    const DeviceRow row = oversubscribed ? device.row : Physical(hardware, device.row);
    if (row.free_compute < 0 || row.free_memory_mib < 0) return false;
    const int slices = use.slices[m];
    switch (mode) {
      case SliceMode::kWhole:
        if (slices > 1) return false;
        break;
      case SliceMode::kFraction:
        if (Left(hardware.split_count, slices) < 0) return false;
        break;
      case SliceMode::kMps:
        if (slices > hardware.mps_clients ||
            use.mps_users != static_cast<std::uint32_t>(slices) * user_id) {
          return false;
        }
        break;
      case SliceMode::kTimeSlice:
        if (Left(hardware.replicas, slices) < 0) return false;
        break;
      case SliceMode::kMig: {
        // Each nibble is at most one.
        const std::uint32_t limits = use.mig_limits;
        if (slices > kMostInstances || device.mig == nullptr ||
            ((use.mig_slices | limits) & 0xeeee'eeee) != 0) {
          return false;
        }
        break;
      }
    }
  }
  return true;
}

}  // namespace tephra
