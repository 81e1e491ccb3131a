#include "tests/peers/kai_hardware.h"

#include <algorithm>

#include "topology/base/check.h"

namespace tephra {
namespace {

const MigModel& ModelOf(const KaiNode& node, const std::string& profile) {
  const MigModel* model = KaiMigModel(node.gpu_name, profile);
  TEPHRA_CHECK(model != nullptr);
  return *model;
}

Slice SliceOf(const MigModel& model, const MigInstance& instance, std::uint16_t device) {
  const MigShare share =
      MigShareOf(model, model.profiles[static_cast<std::size_t>(instance.profile)]);
  Slice slice;
  slice.device = device;
  slice.mode = SliceMode::kMig;
  slice.compute = share.compute;
  slice.memory_mib = share.memory_mib;
  slice.mig_profile = static_cast<std::uint8_t>(instance.profile);
  slice.mig_start = static_cast<std::uint8_t>(instance.start);
  return slice;
}

// The first place of the profile.
MigInstance FirstPlace(const MigModel& model, int profile) {
  const std::uint8_t starts = model.profiles[static_cast<std::size_t>(profile)].starts;
  int start = 0;
  while ((starts >> start & 1) == 0) ++start;
  return {profile, start};
}

// Instances of the smallest profile that leave room for a single instance of the wanted one.
std::vector<MigInstance> RestOf(const MigModel& model, const std::string& wanted) {
  constexpr int kSmallest = 0;
  const MigPlacements placements(model);
  const MigInstance one = FirstPlace(model, FindMigProfile(model, wanted));
  std::vector<MigInstance> rest;
  MigTaken taken = MigFootprint(model.profiles[static_cast<std::size_t>(one.profile)], one.start);
  for (int start = 0; start < model.memory_slices; ++start) {
    if ((placements.FreeStarts(taken, kSmallest) >> start & 1) == 0) continue;
    taken |= MigFootprint(model.profiles[kSmallest], start);
    // The compute slices of all instances together have a bound, too.
    rest.push_back({kSmallest, start});
    std::vector<MigInstance> all = rest;
    all.push_back(one);
    if (!MigTakenBy(model, all)) rest.pop_back();
  }
  return rest;
}

}  // namespace

std::string KaiTypeOf(const KaiNode& node) {
  const auto label = node.labels.find(kKaiTypeKey);
  return label == node.labels.end() ? node.name : label->second;
}

const MigModel* KaiMigModel(const std::string& gpu_name, const std::string& profile) {
  const MigModel* named = FindMigModel(gpu_name);
  if (named != nullptr && FindMigProfile(*named, profile) >= 0) return named;
  const auto any =
      std::find_if(MigModels().begin(), MigModels().end(), [&](const MigModel& model) {
        return FindMigProfile(model, profile) >= 0;
      });
  return any == MigModels().end() ? nullptr : &*any;
}

std::vector<std::string> KaiDevices(const KaiNode& node) {
  std::vector<std::string> devices(static_cast<std::size_t>(node.gpus));
  for (const auto& [profile, count] : node.mig) {
    devices.insert(devices.end(), static_cast<std::size_t>(count), profile);
  }
  return devices;
}

std::string KaiMigDeviceModel(const std::string& profile) { return "mig-" + profile; }

NodeSpec KaiHardware(const KaiNode& node) {
  NodeSpec spec;
  spec.name = node.name;
  spec.labels = node.labels;
  spec.labels[kKaiTypeKey] = KaiTypeOf(node);
  spec.allocatable[kCpu] = node.cpu_milli;
  spec.allocatable[kMemory] = node.memory_bytes;
  spec.allocatable[kPods] = node.pods;
  for (const std::string& profile : KaiDevices(node)) {
    DeviceHardware& device = spec.devices.emplace_back();
    device.memory_mib = node.gpu_memory_mib;
    if (profile.empty()) continue;
    const MigModel& model = ModelOf(node, profile);
    device.model = KaiMigDeviceModel(profile);
    device.modes = Only(SliceMode::kMig);
    device.mig_model = model.name;
    device.memory_mib = MigShareOf(model, model.profiles.back()).memory_mib;
  }
  return spec;
}

std::vector<TaskFact> KaiForeignPods(const KaiNode& node) {
  std::vector<TaskFact> pods;
  const std::vector<std::string> devices = KaiDevices(node);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    if (devices[d].empty()) continue;
    const MigModel& model = ModelOf(node, devices[d]);
    const std::vector<MigInstance> rest = RestOf(model, devices[d]);
    if (rest.empty()) continue;
    TaskFact& pod = pods.emplace_back();
    pod.uid = node.name + "/rest" + std::to_string(d);
    pod.phase = TaskPhase::kRunning;
    pod.node = node.name;
    ContainerSpec& main = pod.pod.emplace().containers.emplace_back();
    main.name = "main";
    main.devices.count = static_cast<std::int32_t>(rest.size());
    main.devices.compute = 0;
    main.devices.sharing = Sharing::kMig;
    main.devices.mig_profile = model.profiles[0].name;
    for (const MigInstance& instance : rest) {
      pod.slices.push_back(SliceOf(model, instance, static_cast<std::uint16_t>(d)));
    }
  }
  return pods;
}

std::int64_t KaiGpuUnit(const KaiCase& one) {
  const MigModel* model = nullptr;
  for (const KaiJob& job : one.jobs) {
    for (const KaiTask& task : job.tasks) {
      if (task.kind != "mig" && task.kind != "none") return kWholeGpu;
      if (!task.mig.empty()) model = KaiMigModel("", task.mig.begin()->first);
    }
  }
  // Rounded up, while the engine rounds the part of an instance down.
  return model == nullptr ? kWholeGpu : (kWholeGpu - 1) / model->compute_slices + 1;
}

Slice KaiMigSlice(const KaiNode& node, const std::string& profile, std::uint16_t device) {
  const MigModel& model = ModelOf(node, profile);
  return SliceOf(model, FirstPlace(model, FindMigProfile(model, profile)), device);
}

}  // namespace tephra
