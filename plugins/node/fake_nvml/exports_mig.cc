// The calls about Multi-Instance GPU: the state machine of a card that is cut.
#include <array>
#include <cstdio>

#include "plugins/node/fake_nvml/exports.h"
#include "plugins/node/fake_nvml/profiles.h"

namespace tephra::node {
namespace {

// Compute instances: one kind for each number of slices, and its number is its id.
constexpr std::array<unsigned, 5> kComputeSlices = {1, 2, 3, 4, 7};

// A card that MIG cuts.
struct Cut {
  Scene& scene;
  std::size_t gpu;
  const MigModel& model;
  FakeGpuState& state;

  const MigProfile& ProfileOf(const FakeGpuInstance& instance) const {
    return model.profiles[instance.profile];
  }
  bool Runs(const FakeGpuInstance& instance, const FakeComputeInstance* compute) const {
    for (const FakeControl::Process& process : scene.control.processes) {
      if (process.gpu == gpu && process.gi == instance.id &&
          (compute == nullptr || process.ci == compute->id)) {
        return true;
      }
    }
    return false;
  }
};

template <class Work>
abi::Return OnCut(Scene& scene, std::size_t gpu, const Work& work) {
  const MigModel* model = scene.machine.gpus[gpu].mig;
  if (model == nullptr) return abi::kNotSupported;
  Cut cut{scene, gpu, *model, scene.state.gpu[gpu]};
  return work(cut);
}

// Runs `work(cut)` on a card of which MIG is capable.
template <class Work>
abi::Return OnCard(const char* name, abi::Device device, const Work& work) {
  return FakeDriver::Get().Run(name, [&](Scene& scene) {
    std::size_t gpu = 0;
    const abi::Return code = FindGpu(scene, device, &gpu);
    return code == abi::kSuccess ? OnCut(scene, gpu, work) : code;
  });
}

// Runs `work(cut, instance)` on a GPU instance that there is.
template <class Work>
abi::Return OnInstance(Scene& scene, const FakeHandle& handle, const Work& work) {
  if (handle.gpu >= scene.machine.gpus.size() || handle.slot >= kFakeSlots) {
    return abi::kInvalidArgument;
  }
  if (scene.control.gpus[handle.gpu].lost) return abi::kGpuIsLost;
  return OnCut(scene, handle.gpu, [&](Cut& cut) -> abi::Return {
    FakeGpuInstance& instance = cut.state.instances[handle.slot];
    if (!instance.used) return abi::kNotFound;
    return work(cut, instance);
  });
}

template <class Work>
abi::Return OnGpuInstance(const char* name, abi::GpuInstance instance, const Work& work) {
  return FakeDriver::Get().Run(name, [&](Scene& scene) {
    const FakeHandle handle = FakeHandle::Of(instance);
    if (handle.kind != FakeHandle::kGpuInstance) return abi::kInvalidArgument;
    return OnInstance(scene, handle, [&](Cut& cut, FakeGpuInstance& found) -> abi::Return {
      return found.serial == handle.serial ? work(cut, found) : abi::kNotFound;
    });
  });
}

// Of a compute instance, or of a MIG device, which is its other name.
template <class Work>
abi::Return OnCompute(Scene& scene, const FakeHandle& handle, const Work& work) {
  if (handle.compute >= kFakeSlots) return abi::kInvalidArgument;
  return OnInstance(scene, handle, [&](Cut& cut, FakeGpuInstance& instance) -> abi::Return {
    FakeComputeInstance& compute = instance.compute[handle.compute];
    if (!compute.used || compute.serial != handle.serial) return abi::kNotFound;
    return work(cut, instance, compute);
  });
}

template <class Work>
abi::Return OnMigDevice(const char* name, abi::Device device, const Work& work) {
  return FakeDriver::Get().Run(name, [&](Scene& scene) {
    const FakeHandle handle = FakeHandle::Of(device);
    if (handle.kind != FakeHandle::kMigDevice) return abi::kInvalidArgument;
    return OnCompute(scene, handle, work);
  });
}

unsigned ComputeSlicesUsed(const FakeGpuInstance& instance) {
  unsigned used = 0;
  for (const FakeComputeInstance& compute : instance.compute) {
    if (compute.used) used += compute.slices;
  }
  return used;
}

// What an answer of several versions has in common.
template <class Info>
abi::Return FillProfile(const Cut& cut, unsigned number, Info* info) {
  const std::optional<std::size_t> profile = FakeProfileAskedBy(cut.model, number);
  if (!profile)
    return number < abi::kGpuInstanceProfiles ? abi::kNotSupported : abi::kInvalidArgument;
  const FakeProfile fake = FakeProfileOf(cut.model, *profile);
  info->id = fake.id;
  info->slices = cut.model.profiles[*profile].compute_slices;
  info->instances = fake.most;
  info->multiprocessors = fake.multiprocessors;
  info->memory_mib = static_cast<unsigned long long>(
      MigShareOf(cut.model, cut.model.profiles[*profile]).memory_mib);
  return abi::kSuccess;
}

// The lowest id that is free; a whole card's instance has 0, others begin at 1.
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

abi::Return Create(Cut& cut, std::size_t profile, const abi::Placement& placement,
                   abi::GpuInstance* out) {
  const MigProfile& kind = cut.model.profiles[profile];
  std::vector<MigInstance> all = {{static_cast<int>(profile), static_cast<int>(placement.start)}};
  if (placement.size != kind.memory_slices || !MigTakenBy(cut.model, all)) {
    ++cut.scene.state.illegal;
    return abi::kInvalidArgument;
  }
  std::size_t free = kFakeSlots;
  for (std::size_t slot = 0; slot < kFakeSlots; ++slot) {
    const FakeGpuInstance& instance = cut.state.instances[slot];
    if (instance.used) {
      all.push_back({instance.profile, instance.start});
    } else {
      free = std::min(free, slot);
    }
  }
  if (free == kFakeSlots || !MigTakenBy(cut.model, all)) {
    ++cut.scene.state.illegal;
    return abi::kInsufficientResources;
  }
  FakeGpuInstance made;
  made.used = true;
  made.id = FreeId(cut.state, kind.memory_slices == cut.model.memory_slices);
  made.profile = static_cast<std::uint8_t>(profile);
  made.start = static_cast<std::uint8_t>(placement.start);
  made.serial = cut.scene.state.next_serial++;
  cut.state.instances[free] = made;
  ++cut.scene.state.created;
  cut.scene.driver.TellInstances(cut.gpu);
  *out = FakeHandle{FakeHandle::kGpuInstance, cut.gpu, free, 0, made.serial}.As<abi::GpuInstance>();
  return abi::kSuccess;
}

}  // namespace

abi::Return nvmlDeviceGetMigMode(abi::Device device, unsigned* current, unsigned* pending) {
  return OnCard("nvmlDeviceGetMigMode", device, [&](Cut& cut) {
    *current = cut.state.mig ? abi::kMigEnable : abi::kMigDisable;
    *pending = cut.state.mig_pending ? abi::kMigEnable : abi::kMigDisable;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceSetMigMode(abi::Device device, unsigned mode, abi::Return* activation) {
  return OnCard("nvmlDeviceSetMigMode", device, [&](Cut& cut) {
    const bool on = mode == abi::kMigEnable;
    for (const FakeGpuInstance& instance : cut.state.instances) {
      if (!on && instance.used) return abi::kInUse;
    }
    *activation = abi::kSuccess;
    cut.state.mig_pending = on;
    // The driver resets an idle card of the generation that needs it by itself.
    const bool resets = MigModeTakesReset(cut.scene.machine.gpus[cut.gpu].card.cuda_major);
    bool runs = false;
    for (const FakeControl::Process& process : cut.scene.control.processes) {
      runs |= process.gpu == cut.gpu;
    }
    if (cut.scene.control.gpus[cut.gpu].busy || (resets && runs)) {
      *activation = abi::kInUse;
    } else {
      cut.state.mig = on;
    }
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetGpuInstanceProfileInfo(abi::Device device, unsigned number,
                                                abi::GpuInstanceProfileInfo* info) {
  return OnCard("nvmlDeviceGetGpuInstanceProfileInfo", device, [&](Cut& cut) {
    *info = {};
    return FillProfile(cut, number, info);
  });
}

abi::Return nvmlDeviceGetGpuInstanceProfileInfoV(abi::Device device, unsigned number,
                                                 abi::GpuInstanceProfileInfoV2* info) {
  return OnCard("nvmlDeviceGetGpuInstanceProfileInfoV", device, [&](Cut& cut) {
    const unsigned version = abi::Version<abi::GpuInstanceProfileInfoV2>(2);
    if (info->version != version) return abi::kVersionMismatch;
    *info = {};
    info->version = version;
    const abi::Return code = FillProfile(cut, number, info);
    if (code != abi::kSuccess) return code;
    const std::size_t profile = *FakeProfileAskedBy(cut.model, number);
    return CopyText("MIG " + std::string(cut.model.profiles[profile].name), info->name,
                    sizeof(info->name));
  });
}

abi::Return nvmlDeviceGetGpuInstancePossiblePlacements_v2(abi::Device device, unsigned id,
                                                          abi::Placement* placements,
                                                          unsigned* count) {
  const char* name = "nvmlDeviceGetGpuInstancePossiblePlacements_v2";
  return OnCard(name, device, [&](Cut& cut) -> abi::Return {
    if (!cut.state.mig) return abi::kNotSupported;
    const std::optional<std::size_t> profile = FakeProfileOfId(cut.model, id);
    if (!profile) return abi::kInvalidArgument;
    const MigProfile& kind = cut.model.profiles[*profile];
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
  return OnCard(name, device, [&](Cut& cut) -> abi::Return {
    if (!cut.state.mig) return abi::kNotSupported;
    const std::optional<std::size_t> profile = FakeProfileOfId(cut.model, id);
    if (!profile) return abi::kInvalidArgument;
    return Create(cut, *profile, *placement, instance);
  });
}

abi::Return nvmlDeviceGetGpuInstances(abi::Device device, unsigned id, abi::GpuInstance* instances,
                                      unsigned* count) {
  return OnCard("nvmlDeviceGetGpuInstances", device, [&](Cut& cut) -> abi::Return {
    *count = 0;
    if (!cut.state.mig) return abi::kNotSupported;
    const std::optional<std::size_t> profile = FakeProfileOfId(cut.model, id);
    if (!profile) return abi::kInvalidArgument;
    for (std::size_t slot = 0; slot < kFakeSlots; ++slot) {
      const FakeGpuInstance& instance = cut.state.instances[slot];
      if (!instance.used || instance.profile != *profile) continue;
      instances[(*count)++] =
          FakeHandle{FakeHandle::kGpuInstance, cut.gpu, slot, 0, instance.serial}
              .As<abi::GpuInstance>();
    }
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceGetInfo(abi::GpuInstance instance, abi::GpuInstanceInfo* info) {
  return OnGpuInstance("nvmlGpuInstanceGetInfo", instance, [&](Cut& cut, FakeGpuInstance& found) {
    *info = {FakeHandle{FakeHandle::kGpu, cut.gpu}.As<abi::Device>(),
             found.id,
             FakeProfileOf(cut.model, found.profile).id,
             {found.start, cut.ProfileOf(found).memory_slices}};
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceDestroy(abi::GpuInstance instance) {
  return OnGpuInstance("nvmlGpuInstanceDestroy", instance, [&](Cut& cut, FakeGpuInstance& found) {
    if (ComputeSlicesUsed(found) > 0 || cut.Runs(found, nullptr)) return abi::kInUse;
    found = {};
    ++cut.scene.state.destroyed;
    cut.scene.driver.TellInstances(cut.gpu);
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceGetComputeInstanceProfileInfo(abi::GpuInstance instance, unsigned number,
                                                         unsigned engines,
                                                         abi::ComputeInstanceProfileInfo* info) {
  const char* name = "nvmlGpuInstanceGetComputeInstanceProfileInfo";
  return OnGpuInstance(name, instance, [&](Cut& cut, FakeGpuInstance& found) {
    if (number >= abi::kComputeInstanceProfiles || engines != abi::kSharedEngines) {
      return abi::kInvalidArgument;
    }
    const unsigned all = cut.ProfileOf(found).compute_slices;
    if (number >= kComputeSlices.size() || kComputeSlices[number] > all) return abi::kNotSupported;
    *info = {};
    info->id = number;
    info->slices = kComputeSlices[number];
    info->instances = all / kComputeSlices[number];
    info->multiprocessors =
        FakeProfileOf(cut.model, found.profile).multiprocessors * info->slices / all;
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceCreateComputeInstance(abi::GpuInstance instance, unsigned id,
                                                 abi::ComputeInstance* out) {
  const char* name = "nvmlGpuInstanceCreateComputeInstance";
  return OnGpuInstance(name, instance, [&](Cut& cut, FakeGpuInstance& found) {
    if (id >= kComputeSlices.size()) return abi::kInvalidArgument;
    const unsigned all = cut.ProfileOf(found).compute_slices;
    std::size_t free = 0;
    while (free < kFakeSlots && found.compute[free].used) ++free;
    if (ComputeSlicesUsed(found) + kComputeSlices[id] > all || free == kFakeSlots) {
      return abi::kInsufficientResources;
    }
    FakeComputeInstance made;
    made.used = true;
    made.id = static_cast<std::uint8_t>(free);
    made.slices = static_cast<std::uint8_t>(kComputeSlices[id]);
    made.serial = cut.scene.state.next_serial++;
    found.compute[free] = made;
    cut.scene.driver.TellInstances(cut.gpu);
    const std::size_t slot = FakeHandle::Of(instance).slot;
    *out = FakeHandle{FakeHandle::kComputeInstance, cut.gpu, slot, free, made.serial}
               .As<abi::ComputeInstance>();
    return abi::kSuccess;
  });
}

abi::Return nvmlGpuInstanceGetComputeInstances(abi::GpuInstance instance, unsigned id,
                                               abi::ComputeInstance* computes, unsigned* count) {
  const char* name = "nvmlGpuInstanceGetComputeInstances";
  return OnGpuInstance(name, instance, [&](Cut& cut, FakeGpuInstance& found) {
    *count = 0;
    if (id >= kComputeSlices.size()) return abi::kInvalidArgument;
    const std::size_t slot = FakeHandle::Of(instance).slot;
    for (std::size_t i = 0; i < kFakeSlots; ++i) {
      const FakeComputeInstance& compute = found.compute[i];
      if (!compute.used || compute.slices != kComputeSlices[id]) continue;
      computes[(*count)++] =
          FakeHandle{FakeHandle::kComputeInstance, cut.gpu, slot, i, compute.serial}
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
        scene, handle, [&](Cut& cut, FakeGpuInstance& parent, FakeComputeInstance& compute) {
          *info = {};
          info->device = FakeHandle{FakeHandle::kGpu, cut.gpu}.As<abi::Device>();
          info->gpu_instance =
              FakeHandle{FakeHandle::kGpuInstance, cut.gpu, handle.slot, 0, parent.serial}
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
                     [&](Cut& cut, FakeGpuInstance& parent, FakeComputeInstance& compute) {
                       if (cut.Runs(parent, &compute)) return abi::kInUse;
                       compute = {};
                       cut.scene.driver.TellInstances(cut.gpu);
                       return abi::kSuccess;
                     });
  });
}

abi::Return nvmlDeviceGetMaxMigDeviceCount(abi::Device device, unsigned* count) {
  return OnCard("nvmlDeviceGetMaxMigDeviceCount", device, [&](Cut& cut) {
    *count = cut.model.compute_slices;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetMigDeviceHandleByIndex(abi::Device device, unsigned index,
                                                abi::Device* mig) {
  return OnCard("nvmlDeviceGetMigDeviceHandleByIndex", device, [&](Cut& cut) {
    unsigned passed = 0;
    for (std::size_t slot = 0; slot < kFakeSlots; ++slot) {
      const FakeGpuInstance& instance = cut.state.instances[slot];
      for (std::size_t i = 0; instance.used && i < kFakeSlots; ++i) {
        if (!instance.compute[i].used || passed++ != index) continue;
        *mig = FakeHandle{FakeHandle::kMigDevice, cut.gpu, slot, i, instance.compute[i].serial}
                   .As<abi::Device>();
        return abi::kSuccess;
      }
    }
    return index < cut.model.compute_slices ? abi::kNotFound : abi::kInvalidArgument;
  });
}

abi::Return nvmlDeviceGetGpuInstanceId(abi::Device device, unsigned* id) {
  return OnMigDevice("nvmlDeviceGetGpuInstanceId", device,
                     [&](Cut&, FakeGpuInstance& instance, FakeComputeInstance&) {
                       *id = instance.id;
                       return abi::kSuccess;
                     });
}

abi::Return nvmlDeviceGetComputeInstanceId(abi::Device device, unsigned* id) {
  return OnMigDevice("nvmlDeviceGetComputeInstanceId", device,
                     [&](Cut&, FakeGpuInstance&, FakeComputeInstance& compute) {
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
    return OnCompute(scene, handle, [&](Cut& cut, FakeGpuInstance&, FakeComputeInstance& compute) {
      // Another one each time an instance is made.
      std::array<char, 64> uuid{};
      std::snprintf(uuid.data(), uuid.size(), "MIG-7e9f0000-0000-5000-8%03zx-%012x", cut.gpu,
                    compute.serial);
      return CopyText(uuid.data(), text, size);
    });
  });
}

}  // namespace tephra::node
