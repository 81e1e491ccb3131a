// The calls about Multi-Instance GPU (MIG).
#include <array>
#include <cstdio>

#include "tests/tools/fake_nvml/exports.h"
#include "tests/tools/fake_nvml/mig_gpu.h"
#include "tests/tools/fake_nvml/profiles.h"

namespace tephra::node {
namespace {

// Compute instances: one kind for each number of slices, and its number is its id.
constexpr std::array<unsigned, 5> kComputeSlices = {1, 2, 3, 4, 7};

unsigned ComputeSlicesUsed(const FakeGpuInstance& instance) {
  unsigned used = 0;
  for (const FakeComputeInstance& compute : instance.compute) {
    if (compute.used) used += compute.slices;
  }
  return used;
}

// What an answer of several versions has in common.
template <class Info>
abi::Return FillProfile(const MigGpu& mig, unsigned number, Info* info) {
  const std::optional<std::size_t> profile = FakeProfileAskedBy(mig.model, number);
  if (!profile)
    return number < abi::kGpuInstanceProfiles ? abi::kNotSupported : abi::kInvalidArgument;
  const FakeProfile fake = FakeProfileOf(mig.model, *profile);
  info->id = fake.id;
  info->slices = mig.model.profiles[*profile].compute_slices;
  info->instances = fake.most;
  info->multiprocessors = fake.multiprocessors;
  info->memory_mib = static_cast<unsigned long long>(
      MigShareOf(mig.model, mig.model.profiles[*profile]).memory_mib);
  return abi::kSuccess;
}

// The lowest id that is free; a whole card's instance has 0, all other ones begin at 1.
std::uint8_t FreeId(const FakeGpuState& state, bool whole) {
  if (whole) return 0;
  for (std::uint8_t id = 1;; ++id) {
    bool taken = false;
    for (const FakeGpuInstance& instance : state.instances) {
      taken |= instance.used && instance.id == id;
    }
    if (!taken) return id;
  }
}

abi::Return Create(MigGpu& mig, std::size_t profile, const abi::Placement& placement,
                   abi::GpuInstance* out) {
  const MigProfile& kind = mig.model.profiles[profile];
  std::vector<MigInstance> all = {{static_cast<int>(profile), static_cast<int>(placement.start)}};
  if (placement.size != kind.memory_slices || !MigTakenBy(mig.model, all)) {
    ++mig.scene.state.illegal;
    return abi::kInvalidArgument;
  }
  std::size_t free = kFakeSlots;
  for (std::size_t slot = 0; slot < kFakeSlots; ++slot) {
    const FakeGpuInstance& instance = mig.state.instances[slot];
    if (instance.used) {
      all.push_back({instance.profile, instance.start});
    } else {
      free = std::min(free, slot);
    }
  }
  if (free == kFakeSlots || !MigTakenBy(mig.model, all)) {
    ++mig.scene.state.illegal;
    return abi::kInsufficientResources;
  }
  FakeGpuInstance made;
  made.used = true;
  made.id = FreeId(mig.state, kind.memory_slices == mig.model.memory_slices);
  made.profile = static_cast<std::uint8_t>(profile);
  made.start = static_cast<std::uint8_t>(placement.start);
  made.serial = mig.scene.state.next_serial++;
  mig.state.instances[free] = made;
  ++mig.scene.state.created;
  mig.scene.driver.TellInstances(mig.gpu);
  *out = FakeHandle{FakeHandle::kGpuInstance, mig.gpu, free, 0, made.serial}.As<abi::GpuInstance>();
  return abi::kSuccess;
}

}  // namespace

abi::Return nvmlDeviceGetMigMode(abi::Device device, unsigned* current, unsigned* pending) {
  return OnCard("nvmlDeviceGetMigMode", device, [&](MigGpu& mig) {
    *current = mig.state.mig ? abi::kMigEnable : abi::kMigDisable;
    *pending = mig.state.mig_pending ? abi::kMigEnable : abi::kMigDisable;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceSetMigMode(abi::Device device, unsigned mode, abi::Return* activation) {
  return OnCard("nvmlDeviceSetMigMode", device, [&](MigGpu& mig) {
    const bool on = mode == abi::kMigEnable;
    for (const FakeGpuInstance& instance : mig.state.instances) {
      if (!on && instance.used) return abi::kInUse;
    }
    *activation = abi::kSuccess;
    mig.state.mig_pending = on;
    // The driver resets an idle card of the generation that needs it by itself.
    const bool resets = MigModeTakesReset(mig.scene.machine.gpus[mig.gpu].card.cuda_major);
    bool runs = false;
    for (const FakeControl::Process& process : mig.scene.control.processes) {
      runs |= process.gpu == mig.gpu;
    }
    if (mig.scene.control.gpus[mig.gpu].busy || (resets && runs)) {
      *activation = abi::kInUse;
    } else {
      mig.state.mig = on;
    }
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetGpuInstanceProfileInfo(abi::Device device, unsigned number,
                                                abi::GpuInstanceProfileInfo* info) {
  return OnCard("nvmlDeviceGetGpuInstanceProfileInfo", device, [&](MigGpu& mig) {
    *info = {};
    return FillProfile(mig, number, info);
  });
}

abi::Return nvmlDeviceGetGpuInstanceProfileInfoV(abi::Device device, unsigned number,
                                                 abi::GpuInstanceProfileInfoV2* info) {
  return OnCard("nvmlDeviceGetGpuInstanceProfileInfoV", device, [&](MigGpu& mig) {
    const unsigned version = abi::Version<abi::GpuInstanceProfileInfoV2>(2);
    if (info->version != version) return abi::kVersionMismatch;
    *info = {};
    info->version = version;
    const abi::Return code = FillProfile(mig, number, info);
    if (code != abi::kSuccess) return code;
    const std::size_t profile = *FakeProfileAskedBy(mig.model, number);
    return CopyText("MIG " + std::string(mig.model.profiles[profile].name), info->name,
                    sizeof(info->name));
  });
}

abi::Return nvmlDeviceGetGpuInstancePossiblePlacements_v2(abi::Device device, unsigned id,
                                                          abi::Placement* placements,
                                                          unsigned* count) {
  const char* name = "nvmlDeviceGetGpuInstancePossiblePlacements_v2";
  return OnCard(name, device, [&](MigGpu& mig) -> abi::Return {
    if (!mig.state.mig) return abi::kNotSupported;
    const std::optional<std::size_t> profile = FakeProfileOfId(mig.model, id);
    if (!profile) return abi::kInvalidArgument;
    const MigProfile& kind = mig.model.profiles[*profile];
    const unsigned room = *count;
    *count = 0;
    for (unsigned start = 0; start < 8; ++start) {
      if ((kind.starts >> start & 1) == 0) continue;
      if (placements != nullptr && *count < room) placements[*count] = {start, kind.memory_slices};
      ++*count;
    }
    return placements == nullptr || *count <= room ? abi::kSuccess : abi::kInsufficientSize;
  });
}

abi::Return nvmlDeviceCreateGpuInstanceWithPlacement(abi::Device device, unsigned id,
                                                     const abi::Placement* placement,
                                                     abi::GpuInstance* instance) {
  const char* name = "nvmlDeviceCreateGpuInstanceWithPlacement";
  return OnCard(name, device, [&](MigGpu& mig) -> abi::Return {
    if (!mig.state.mig) return abi::kNotSupported;
    const std::optional<std::size_t> profile = FakeProfileOfId(mig.model, id);
    if (!profile) return abi::kInvalidArgument;
    return Create(mig, *profile, *placement, instance);
  });
}

abi::Return nvmlDeviceGetGpuInstances(abi::Device device, unsigned id, abi::GpuInstance* instances,
                                      unsigned* count) {
  return OnCard("nvmlDeviceGetGpuInstances", device, [&](MigGpu& mig) -> abi::Return {
    *count = 0;
    if (!mig.state.mig) return abi::kNotSupported;
    const std::optional<std::size_t> profile = FakeProfileOfId(mig.model, id);
    if (!profile) return abi::kInvalidArgument;
    for (std::size_t slot = 0; slot < kFakeSlots; ++slot) {
      const FakeGpuInstance& instance = mig.state.instances[slot];
      if (!instance.used || instance.profile != *profile) continue;
      instances[(*count)++] =
          FakeHandle{FakeHandle::kGpuInstance, mig.gpu, slot, 0, instance.serial}
              .As<abi::GpuInstance>();
    }
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceGetInfo(abi::GpuInstance instance, abi::GpuInstanceInfo* info) {
  const char* name = "nvmlGpuInstanceGetInfo";
  return OnGpuInstance(name, instance, [&](MigGpu& mig, FakeGpuInstance& found) {
    *info = {FakeHandle{FakeHandle::kGpu, mig.gpu}.As<abi::Device>(),
             found.id,
             FakeProfileOf(mig.model, found.profile).id,
             {found.start, mig.ProfileOf(found).memory_slices}};
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceDestroy(abi::GpuInstance instance) {
  const char* name = "nvmlGpuInstanceDestroy";
  return OnGpuInstance(name, instance, [&](MigGpu& mig, FakeGpuInstance& found) {
    if (ComputeSlicesUsed(found) > 0 || mig.Runs(found, nullptr)) return abi::kInUse;
    found = {};
    ++mig.scene.state.destroyed;
    mig.scene.driver.TellInstances(mig.gpu);
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceGetComputeInstanceProfileInfo(abi::GpuInstance instance, unsigned number,
                                                         unsigned engines,
                                                         abi::ComputeInstanceProfileInfo* info) {
  const char* name = "nvmlGpuInstanceGetComputeInstanceProfileInfo";
  return OnGpuInstance(name, instance, [&](MigGpu& mig, FakeGpuInstance& found) {
    if (number >= abi::kComputeInstanceProfiles || engines != abi::kSharedEngines) {
      return abi::kInvalidArgument;
    }
    const unsigned all = mig.ProfileOf(found).compute_slices;
    if (number >= kComputeSlices.size() || kComputeSlices[number] > all) return abi::kNotSupported;
    *info = {};
    info->id = number;
    info->slices = kComputeSlices[number];
    info->instances = all / kComputeSlices[number];
    info->multiprocessors =
        FakeProfileOf(mig.model, found.profile).multiprocessors * info->slices / all;
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceCreateComputeInstance(abi::GpuInstance instance, unsigned id,
                                                 abi::ComputeInstance* out) {
  const char* name = "nvmlGpuInstanceCreateComputeInstance";
  return OnGpuInstance(name, instance, [&](MigGpu& mig, FakeGpuInstance& found) {
    if (id >= kComputeSlices.size()) return abi::kInvalidArgument;
    const unsigned all = mig.ProfileOf(found).compute_slices;
    std::size_t free = 0;
    while (free < kFakeSlots && found.compute[free].used) ++free;
    if (ComputeSlicesUsed(found) + kComputeSlices[id] > all || free == kFakeSlots) {
      return abi::kInsufficientResources;
    }
    FakeComputeInstance made;
    made.used = true;
    made.id = static_cast<std::uint8_t>(free);
    made.slices = static_cast<std::uint8_t>(kComputeSlices[id]);
    made.serial = mig.scene.state.next_serial++;
    found.compute[free] = made;
    mig.scene.driver.TellInstances(mig.gpu);
    const std::size_t slot = FakeHandle::Of(instance).slot;
    *out = FakeHandle{FakeHandle::kComputeInstance, mig.gpu, slot, free, made.serial}
               .As<abi::ComputeInstance>();
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceGetComputeInstances(abi::GpuInstance instance, unsigned id,
                                               abi::ComputeInstance* computes, unsigned* count) {
  const char* name = "nvmlGpuInstanceGetComputeInstances";
  return OnGpuInstance(name, instance, [&](MigGpu& mig, FakeGpuInstance& found) {
    *count = 0;
    if (id >= kComputeSlices.size()) return abi::kInvalidArgument;
    const std::size_t slot = FakeHandle::Of(instance).slot;
    for (std::size_t i = 0; i < kFakeSlots; ++i) {
      const FakeComputeInstance& compute = found.compute[i];
      if (!compute.used || compute.slices != kComputeSlices[id]) continue;
      computes[(*count)++] =
          FakeHandle{FakeHandle::kComputeInstance, mig.gpu, slot, i, compute.serial}
              .As<abi::ComputeInstance>();
    }
    return abi::kSuccess;
  });
}

abi::Return nvmlComputeInstanceGetInfo_v2(abi::ComputeInstance instance,
                                          abi::ComputeInstanceInfo* info) {
  return FakeDriver::Get().Run("nvmlComputeInstanceGetInfo_v2", [&](Scene& scene) {
    const FakeHandle handle = FakeHandle::Of(instance);
    return OnCompute(
        scene, handle, [&](MigGpu& mig, FakeGpuInstance& parent, FakeComputeInstance& compute) {
          *info = {};
          info->device = FakeHandle{FakeHandle::kGpu, mig.gpu}.As<abi::Device>();
          info->gpu_instance =
              FakeHandle{FakeHandle::kGpuInstance, mig.gpu, handle.slot, 0, parent.serial}
                  .As<abi::GpuInstance>();
          info->id = compute.id;
          info->placement.size = compute.slices;
          return abi::kSuccess;
        });
  });
}

abi::Return nvmlComputeInstanceDestroy(abi::ComputeInstance instance) {
  return FakeDriver::Get().Run("nvmlComputeInstanceDestroy", [&](Scene& scene) {
    const FakeHandle handle = FakeHandle::Of(instance);
    return OnCompute(scene, handle,
                     [&](MigGpu& mig, FakeGpuInstance& parent, FakeComputeInstance& compute) {
                       if (mig.Runs(parent, &compute)) return abi::kInUse;
                       compute = {};
                       mig.scene.driver.TellInstances(mig.gpu);
                       return abi::kSuccess;
                     });
  });
}

abi::Return nvmlDeviceGetMaxMigDeviceCount(abi::Device device, unsigned* count) {
  return OnCard("nvmlDeviceGetMaxMigDeviceCount", device, [&](MigGpu& mig) {
    *count = mig.model.compute_slices;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetMigDeviceHandleByIndex(abi::Device device, unsigned index,
                                                abi::Device* mig) {
  return OnCard("nvmlDeviceGetMigDeviceHandleByIndex", device, [&](MigGpu& on) {
    unsigned passed = 0;
    for (std::size_t slot = 0; slot < kFakeSlots; ++slot) {
      const FakeGpuInstance& instance = on.state.instances[slot];
      for (std::size_t i = 0; instance.used && i < kFakeSlots; ++i) {
        if (!instance.compute[i].used || passed++ != index) continue;
        *mig = FakeHandle{FakeHandle::kMigDevice, on.gpu, slot, i, instance.compute[i].serial}
                   .As<abi::Device>();
        return abi::kSuccess;
      }
    }
    return index < on.model.compute_slices ? abi::kNotFound : abi::kInvalidArgument;
  });
}

abi::Return nvmlDeviceGetGpuInstanceId(abi::Device device, unsigned* id) {
  return OnMigDevice("nvmlDeviceGetGpuInstanceId", device,
                     [&](MigGpu&, FakeGpuInstance& instance, FakeComputeInstance&) {
                       *id = instance.id;
                       return abi::kSuccess;
                     });
}

abi::Return nvmlDeviceGetComputeInstanceId(abi::Device device, unsigned* id) {
  return OnMigDevice("nvmlDeviceGetComputeInstanceId", device,
                     [&](MigGpu&, FakeGpuInstance&, FakeComputeInstance& compute) {
                       *id = compute.id;
                       return abi::kSuccess;
                     });
}

abi::Return nvmlDeviceGetUUID(abi::Device device, char* text, unsigned size) {
  return FakeDriver::Get().Run("nvmlDeviceGetUUID", [&](Scene& scene) -> abi::Return {
    const FakeHandle handle = FakeHandle::Of(device);
    if (handle.kind == FakeHandle::kGpu) {
      std::size_t gpu = 0;
      const abi::Return code = FindGpu(scene, device, &gpu);
      return code == abi::kSuccess ? CopyText(scene.machine.gpus[gpu].uuid, text, size) : code;
    }
    if (handle.kind != FakeHandle::kMigDevice) return abi::kInvalidArgument;
    return OnCompute(scene, handle,
                     [&](MigGpu& mig, FakeGpuInstance&, FakeComputeInstance& compute) {
      // Another one each time an instance is made.
      std::array<char, 64> uuid{};
      std::snprintf(uuid.data(), uuid.size(), "MIG-7e9f0000-0000-5000-8%03zx-%012x", mig.gpu,
                    compute.serial);
      return CopyText(uuid.data(), text, size);
    });
  });
}

}  // namespace tephra::node
