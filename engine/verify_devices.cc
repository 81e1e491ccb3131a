// The Verifier's own words for what may be given of a device: written down without
// queue/device_room.
#include <algorithm>

#include "engine/verify.h"

namespace tephra {
namespace {

const char* WordOf(SliceMode mode) {
  constexpr const char* kWords[] = {"whole", "as a fraction", "by MPS", "in time slices", "by MIG"};
  return kWords[static_cast<int>(mode)];
}

std::string DeviceText(std::size_t device) { return "device " + std::to_string(device); }

// The amounts are as asked for.
bool AsAsked(const Slice& slice, const DeviceRequest& asked, const DeviceHardware& hardware) {
  if (slice.mode != asked.mode()) return false;
  if (slice.mode == SliceMode::kWhole) return slice.compute == kWholeGpu;
  if (slice.mode != SliceMode::kMig) {
    return slice.compute == asked.compute && slice.memory_mib == asked.memory_mib;
  }
  const MigModel* model = FindMigModel(hardware.mig_model);
  if (model == nullptr || slice.mig_profile >= model->profiles.size()) return false;
  const MigProfile& profile = model->profiles[slice.mig_profile];
  return profile.name == asked.mig_profile &&
         MigShare{slice.compute, slice.memory_mib} == MigShareOf(*model, profile);
}

// An instance lies where its profile may, and no other one lies there.
std::string CheckInstance(const Slice& slice, const DeviceHardware& hardware,
                          const DeviceUse& others) {
  const MigModel* model = FindMigModel(hardware.mig_model);
  const MigProfile& profile = model->profiles[slice.mig_profile];
  const int start = slice.mig_start, end = start + profile.memory_slices;
  if (end > model->memory_slices || (profile.starts & 1 << start) == 0) {
    return "would begin a " + std::string(profile.name) + " at slice " + std::to_string(start);
  }
  for (int i = start; i < end; ++i) {
    if ((others.mig_slices >> 4 * i & 0xf) == 0) continue;
    return "would give memory slice " + std::to_string(i) + " twice";
  }
  if (profile.limit == kNoLimit || (others.mig_limits >> 4 * profile.limit & 0xf) == 0) return "";
  return "would have a second " + std::string(profile.name);
}

// How many slices one device may be held in at a time; 0: no bound.
std::int32_t MostOf(const DeviceHardware& hardware, SliceMode mode) {
  switch (mode) {
    case SliceMode::kWhole:
      return 1;
    case SliceMode::kFraction:
      return hardware.split_count;
    case SliceMode::kMps:
      return hardware.mps_clients;
    case SliceMode::kTimeSlice:
      return hardware.replicas;
    case SliceMode::kMig:
      return 0;
  }
  return 0;
}

// Whether two containers of a pod run at the same time.
bool AtOnce(const TaskClass& cls, const Slice& a, const Slice& b) {
  const auto init = [&](const Slice& slice) {
    return cls.pod.containers[slice.container].kind == ContainerKind::kInit;
  };
  const auto before = [&](const Slice& slice, const Slice& other) {
    return slice.container < other.container &&
           cls.pod.containers[slice.container].kind == ContainerKind::kSidecar;
  };
  if (init(a) && init(b)) return false;
  if (init(a)) return before(b, a);
  return !init(b) || before(a, b);
}

// How many fractions of its device the task has while the container of the slice runs: of an init
// container those of the sidecars before it, else all that last.
std::ptrdiff_t FractionsBeside(const TaskClass& cls, const Slices& slices, const Slice& slice) {
  const auto init = [&](const Slice& one) {
    return cls.pod.containers[one.container].kind == ContainerKind::kInit;
  };
  return std::count_if(slices.begin(), slices.end(), [&](const Slice& other) {
    const bool here = other.device == slice.device && other.mode == SliceMode::kFraction;
    return here && (&other == &slice || (!init(other) && AtOnce(cls, slice, other)));
  });
}

// Two of one task's slices that lie on one device.
bool MayMix(const TaskClass& cls, const Slice& a, const Slice& b) {
  const bool whole = a.mode == SliceMode::kWhole || b.mode == SliceMode::kWhole;
  const bool by_hook = a.mode <= SliceMode::kFraction && b.mode <= SliceMode::kFraction;
  if (!by_hook) return a.mode == b.mode;
  return !whole || !AtOnce(cls, a, b);
}

}  // namespace

std::string Verifier::CheckSlices(const TaskClass& cls, const Placement& placement, Row& row) {
  const NodeSpec& spec = snapshot_->hardware().spec(placement.node);
  for (const Slice& slice : placement.slices) {
    if (slice.device >= row.devices.size()) return "has no " + DeviceText(slice.device);
  }
  std::size_t expected = 0;
  for (const std::vector<DeviceAsk>* asks : {&cls.lasting, &cls.init}) {
    for (const DeviceAsk& ask : *asks) {
      expected += static_cast<std::size_t>(ask.request.count);
      std::int32_t given = 0;
      for (const Slice& slice : placement.slices) {
        if (slice.container != ask.container) continue;
        ++given;
        if (!AsAsked(slice, ask.request, spec.devices[slice.device])) {
          return "would give a slice of another size than asked";
        }
      }
      if (given != ask.request.count)
        return "would give devices " + Numbers(given, ask.request.count);
    }
  }
  if (expected != placement.slices.size()) return "would give slices that no container asks for";
  for (std::size_t i = 0; i < placement.slices.size(); ++i) {
    const Slice& slice = placement.slices[i];
    for (std::size_t j = 0; j < i; ++j) {
      const Slice& other = placement.slices[j];
      if (other.device != slice.device) continue;
      if (other.container == slice.container)
        return "would give one container the same device twice";
      if (!MayMix(cls, slice, other)) {
        return DeviceText(slice.device) + " would be in two modes";
      }
    }
    const DeviceHardware& hardware = spec.devices[slice.device];
    if (!DeviceAllowed(cls.pod.constraints, hardware)) {
      return "would give a device of model " + hardware.model;
    }
    if (!hardware.may(slice.mode)) {
      return DeviceText(slice.device) + " may not be given " + WordOf(slice.mode);
    }
    const std::int32_t split = hardware.split_count;
    if (slice.mode == SliceMode::kFraction && split != 0 &&
        FractionsBeside(cls, placement.slices, slice) > split) {
      return DeviceText(slice.device) + " would be split by one task more than " +
             std::to_string(split) + " times";
    }
    const DeviceUse& use = row.devices[slice.device].use;
    if (slice.mode == SliceMode::kWhole && use.all() > 0) {
      return "would give whole " + DeviceText(slice.device) + ", which is in use";
    }
    if (slice.mode != SliceMode::kMig) continue;
    const std::string fault = CheckInstance(slice, hardware, use);
    if (!fault.empty()) return DeviceText(slice.device) + " " + fault;
  }
  DeviceCharges(cls, placement.slices, snapshot_->hardware().mig(placement.node), scratch_);
  for (const DeviceCharge& charge : scratch_) {
    const std::string fault = CheckDevice(spec.devices[charge.device], row.devices[charge.device],
                                          charge, cls.pod.user_id);
    if (!fault.empty()) return DeviceText(charge.device) + " " + fault;
  }
  return "";
}

// The device beside what it is charged.
std::string Verifier::CheckDevice(const DeviceHardware& hardware, const DeviceRow& row,
                                  const DeviceCharge& charge, std::uint32_t user_id) {
  std::int64_t most_compute = row.free_compute, most_memory = row.free_memory_mib;
  for (std::size_t m = 0; m < kSliceModes; ++m) {
    if (charge.use.slices[m] == 0) continue;
    const SliceMode mode = static_cast<SliceMode>(m);
    if (row.use.all() != row.use.of(mode)) return std::string("is not given ") + WordOf(mode);
    const int slices = row.use.of(mode) + charge.use.of(mode);
    const std::int32_t most = MostOf(hardware, mode);
    if (most != 0 && slices > most) {
      return std::string("would be given ") + WordOf(mode) + " " + Numbers(slices, most) + " times";
    }
    if (mode > SliceMode::kFraction && hardware.healthy) {
      // Less what fractions may use above what there is.
      most_compute -= hardware.compute_factor - kWholeGpu;
      most_memory -= hardware.shareable_memory_mib() - hardware.memory_mib;
    }
    if (mode == SliceMode::kMps &&
        row.use.mps_users != static_cast<std::uint32_t>(row.use.of(mode)) * user_id) {
      return "serves another user than " + std::to_string(user_id);
    }
  }
  for (int i = 0; i < 8; ++i) {
    const auto twice = [i](std::uint32_t a, std::uint32_t b) {
      return (b >> 4 * i & 0xf) != 0 && (a >> 4 * i & 0xf) + (b >> 4 * i & 0xf) > 1;
    };
    if (twice(row.use.mig_slices, charge.use.mig_slices) ||
        (i < 4 && twice(row.use.mig_limits, charge.use.mig_limits))) {
      return "would hold two instances in one place";
    }
  }
  if (charge.compute <= most_compute && charge.memory_mib <= most_memory) return "";
  return "would give compute " + Numbers(charge.compute, most_compute) + ", memory " +
         Numbers(charge.memory_mib, most_memory);
}

}  // namespace tephra
