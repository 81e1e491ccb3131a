// What Nvml says and does about Multi-Instance GPU.
#include <array>
#include <cmath>

#include "plugins/node/nvml/api.h"
#include "plugins/node/nvml/nvml.h"

namespace tephra::node {
namespace {

constexpr std::string_view kNamePrefix = "MIG ";

// What nvidia-smi appends to a profile that another of its size has beside it, by the number that
// asks for it (nvmlGpuInstanceProfile_t).
constexpr std::array<const char*, abi::kGpuInstanceProfiles> kNameEnds = {
    "", "",     "",     "",     "",    "",    "",        "+me",    "+me",
    "", "+gfx", "+gfx", "+gfx", "-me", "-me", "+me.all", "+me.all"};

// The name, of a driver too old to tell it. The gigabytes in it are not those of the instance but
// its eighths of the card: NVIDIA's go-nvlib (pkg/nvlib/device) counts them so.
std::string ProfileName(unsigned profile, const abi::GpuInstanceProfileInfo& info,
                        std::int64_t card_mib) {
  const double part = static_cast<double>(info.memory_mib) /
                      static_cast<double>(std::max<std::int64_t>(card_mib, 1));
  const double card_gib = std::ceil(static_cast<double>(card_mib) / 1024);
  const auto gigabytes = static_cast<int>(std::lround(std::ceil(part * 8) / 8 * card_gib));
  return std::to_string(info.slices) + "g." + std::to_string(gigabytes) + "gb" + kNameEnds[profile];
}

}  // namespace

absl::StatusOr<NvmlMigMode> Nvml::MigMode(NvmlDevice device) const {
  unsigned current = 0, pending = 0;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetMigMode, device, &current, &pending);
  return NvmlMigMode{current == abi::kMigEnable, pending == abi::kMigEnable};
}

absl::Status Nvml::SetMigMode(NvmlDevice device, bool on) const {
  abi::Return activation = abi::kSuccess;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceSetMigMode, device, on ? abi::kMigEnable : abi::kMigDisable,
                              &activation);
  return absl::OkStatus();  // what `activation` tells, MigMode tells too
}

absl::StatusOr<std::vector<NvmlMigProfile>> Nvml::MigProfiles(NvmlDevice device) const {
  abi::Memory memory{};
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetMemoryInfo, device, &memory);
  std::vector<NvmlMigProfile> profiles;
  for (unsigned profile = 0; profile < abi::kGpuInstanceProfiles; ++profile) {
    abi::GpuInstanceProfileInfoV2 named{};
    named.version = abi::Version<abi::GpuInstanceProfileInfoV2>(2);
    abi::Return code =
        TEPHRA_NVML_CALL(nvmlDeviceGetGpuInstanceProfileInfoV, device, profile, &named);
    if (code == abi::kSuccess) {
      named.name[sizeof(named.name) - 1] = '\0';
      std::string_view name = named.name;
      if (name.substr(0, kNamePrefix.size()) == kNamePrefix) name.remove_prefix(kNamePrefix.size());
      profiles.push_back({named.id, std::string(name), static_cast<int>(named.slices),
                          static_cast<int>(named.memory_mib),
                          static_cast<int>(named.multiprocessors),
                          static_cast<int>(named.instances)});
      continue;
    }
    abi::GpuInstanceProfileInfo plain{};
    if (code == abi::kFunctionNotFound) {
      code = TEPHRA_NVML_CALL(nvmlDeviceGetGpuInstanceProfileInfo, device, profile, &plain);
    }
    // A card lacks some profiles, and a driver knows only those of its time.
    if (code == abi::kNotSupported || code == abi::kInvalidArgument) continue;
    if (code != abi::kSuccess) return Error("nvmlDeviceGetGpuInstanceProfileInfo", code);
    profiles.push_back(
        {plain.id, ProfileName(profile, plain, static_cast<std::int64_t>(memory.total >> 20)),
         static_cast<int>(plain.slices), static_cast<int>(plain.memory_mib),
         static_cast<int>(plain.multiprocessors), static_cast<int>(plain.instances)});
  }
  return profiles;
}

absl::StatusOr<std::vector<nvml_abi::Placement>> Nvml::MigPlacements(NvmlDevice device,
                                                                     unsigned profile_id) const {
  std::vector<abi::Placement> placements(32);
  auto count = static_cast<unsigned>(placements.size());
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetGpuInstancePossiblePlacements_v2, device, profile_id,
                              placements.data(), &count);
  placements.resize(count);
  return placements;
}

absl::StatusOr<NvmlGpuInstance> Nvml::Describe(nvml_abi::GpuInstance handle) const {
  abi::GpuInstanceInfo info{};
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlGpuInstanceGetInfo, handle, &info);
  NvmlGpuInstance instance;
  instance.handle = handle;
  instance.id = info.id;
  instance.profile_id = info.profile_id;
  instance.start = static_cast<int>(info.placement.start);
  instance.size = static_cast<int>(info.placement.size);
  for (unsigned profile = 0; profile < abi::kComputeInstanceProfiles; ++profile) {
    abi::ComputeInstanceProfileInfo facts{};
    if (TEPHRA_NVML_CALL(nvmlGpuInstanceGetComputeInstanceProfileInfo, handle, profile,
                         abi::kSharedEngines, &facts) != abi::kSuccess) {
      continue;  // too large for this instance, or not known to this driver
    }
    std::array<abi::ComputeInstance, 8> found{};
    auto count = static_cast<unsigned>(found.size());
    TEPHRA_NVML_RETURN_IF_ERROR(nvmlGpuInstanceGetComputeInstances, handle, facts.id, found.data(),
                                &count);
    for (unsigned i = 0; i < count; ++i) {
      abi::ComputeInstanceInfo compute{};
      TEPHRA_NVML_RETURN_IF_ERROR(nvmlComputeInstanceGetInfo_v2, found[i], &compute);
      instance.compute.push_back({found[i], compute.id, static_cast<int>(facts.slices)});
    }
  }
  return instance;
}

absl::StatusOr<std::vector<NvmlGpuInstance>> Nvml::GpuInstances(NvmlDevice device) const {
  absl::StatusOr<std::vector<NvmlMigProfile>> profiles = MigProfiles(device);
  if (!profiles.ok()) return profiles.status();
  std::vector<NvmlGpuInstance> instances;
  for (const NvmlMigProfile& profile : *profiles) {
    std::array<abi::GpuInstance, 16> found{};
    auto count = static_cast<unsigned>(found.size());
    TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetGpuInstances, device, profile.id, found.data(),
                                &count);
    for (unsigned i = 0; i < count; ++i) {
      absl::StatusOr<NvmlGpuInstance> instance = Describe(found[i]);
      if (!instance.ok()) return instance.status();
      instances.push_back(*std::move(instance));
    }
  }
  return instances;
}

absl::StatusOr<NvmlGpuInstance> Nvml::CreateGpuInstance(NvmlDevice device, unsigned profile_id,
                                                        nvml_abi::Placement placement) const {
  abi::GpuInstance handle = nullptr;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceCreateGpuInstanceWithPlacement, device, profile_id,
                              &placement, &handle);
  return Describe(handle);
}

absl::Status Nvml::DestroyGpuInstance(nvml_abi::GpuInstance instance) const {
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlGpuInstanceDestroy, instance);
  return absl::OkStatus();
}

absl::StatusOr<NvmlComputeInstance> Nvml::CreateComputeInstance(nvml_abi::GpuInstance instance,
                                                                int slices) const {
  for (unsigned profile = 0; profile < abi::kComputeInstanceProfiles; ++profile) {
    abi::ComputeInstanceProfileInfo facts{};
    if (TEPHRA_NVML_CALL(nvmlGpuInstanceGetComputeInstanceProfileInfo, instance, profile,
                         abi::kSharedEngines, &facts) != abi::kSuccess ||
        static_cast<int>(facts.slices) != slices) {
      continue;
    }
    NvmlComputeInstance compute;
    TEPHRA_NVML_RETURN_IF_ERROR(nvmlGpuInstanceCreateComputeInstance, instance, facts.id,
                                &compute.handle);
    abi::ComputeInstanceInfo info{};
    TEPHRA_NVML_RETURN_IF_ERROR(nvmlComputeInstanceGetInfo_v2, compute.handle, &info);
    compute.id = info.id;
    compute.slices = slices;
    return compute;
  }
  return absl::UnimplementedError("the GPU instance has no compute profile of " +
                                  std::to_string(slices) + " slices");
}

absl::Status Nvml::DestroyComputeInstance(nvml_abi::ComputeInstance instance) const {
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlComputeInstanceDestroy, instance);
  return absl::OkStatus();
}

absl::StatusOr<std::string> Nvml::MigUuid(NvmlDevice device, unsigned gpu_instance,
                                          unsigned compute_instance) const {
  unsigned most = 0;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetMaxMigDeviceCount, device, &most);
  for (unsigned i = 0; i < most; ++i) {
    abi::Device mig = nullptr;
    const abi::Return code = TEPHRA_NVML_CALL(nvmlDeviceGetMigDeviceHandleByIndex, device, i, &mig);
    if (code == abi::kNotFound) continue;
    if (code != abi::kSuccess) return Error("nvmlDeviceGetMigDeviceHandleByIndex", code);
    unsigned gi = 0, ci = 0;
    TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetGpuInstanceId, mig, &gi);
    TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetComputeInstanceId, mig, &ci);
    if (gi != gpu_instance || ci != compute_instance) continue;
    std::array<char, abi::kUuidSize> uuid{};
    TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetUUID, mig, uuid.data(), uuid.size());
    return std::string(uuid.data());
  }
  return absl::NotFoundError("no MIG device of GPU instance " + std::to_string(gpu_instance) +
                             ", compute instance " + std::to_string(compute_instance));
}

}  // namespace tephra::node
