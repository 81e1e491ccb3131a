// MigGpu: a GPU of the fake that MIG can partition, and the helpers that find one by its handles.
#pragma once

#include <cstddef>

#include "tests/tools/fake_nvml/exports.h"

namespace tephra::node {

// A GPU with MIG.
struct MigGpu {
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
abi::Return OnMigGpu(Scene& scene, std::size_t gpu, const Work& work) {
  const MigModel* model = scene.machine.gpus[gpu].mig;
  if (model == nullptr) return abi::kNotSupported;
  MigGpu mig{scene, gpu, *model, scene.state.gpu[gpu]};
  return work(mig);
}

// Runs `work(mig)` on a card of which MIG is capable.
template <class Work>
abi::Return OnCard(const char* name, abi::Device device, const Work& work) {
  return FakeDriver::Get().Run(name, [&](Scene& scene) {
    std::size_t gpu = 0;
    const abi::Return code = FindGpu(scene, device, &gpu);
    return code == abi::kSuccess ? OnMigGpu(scene, gpu, work) : code;
  });
}

// Runs `work(mig, instance)` on a GPU instance that there is.
template <class Work>
abi::Return OnInstance(Scene& scene, const FakeHandle& handle, const Work& work) {
  if (handle.gpu >= scene.machine.gpus.size() || handle.slot >= kFakeSlots) {
    return abi::kInvalidArgument;
  }
  if (scene.control.gpus[handle.gpu].lost) return abi::kGpuIsLost;
  return OnMigGpu(scene, handle.gpu, [&](MigGpu& mig) -> abi::Return {
    FakeGpuInstance& instance = mig.state.instances[handle.slot];
    if (!instance.used) return abi::kNotFound;
    return work(mig, instance);
  });
}

template <class Work>
abi::Return OnGpuInstance(const char* name, abi::GpuInstance instance, const Work& work) {
  return FakeDriver::Get().Run(name, [&](Scene& scene) {
    const FakeHandle handle = FakeHandle::Of(instance);
    if (handle.kind != FakeHandle::kGpuInstance) return abi::kInvalidArgument;
    return OnInstance(scene, handle, [&](MigGpu& mig, FakeGpuInstance& found) -> abi::Return {
      return found.serial == handle.serial ? work(mig, found) : abi::kNotFound;
    });
  });
}

// Of a compute instance, or of a MIG device, which is its other name.
template <class Work>
abi::Return OnCompute(Scene& scene, const FakeHandle& handle, const Work& work) {
  if (handle.compute >= kFakeSlots) return abi::kInvalidArgument;
  return OnInstance(scene, handle, [&](MigGpu& mig, FakeGpuInstance& instance) -> abi::Return {
    FakeComputeInstance& compute = instance.compute[handle.compute];
    if (!compute.used || compute.serial != handle.serial) return abi::kNotFound;
    return work(mig, instance, compute);
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

}  // namespace tephra::node
