#include "plugins/node/inventory.h"

#include <algorithm>
#include <cctype>

#include "plugins/node/cards.h"
#include "topology/mig.h"

namespace tephra::node {
namespace {

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool Fits(const DeviceRule& rule, std::size_t index, const Gpu& gpu) {
  if (rule.index && *rule.index != index) return false;
  if (!rule.uuid.empty() && rule.uuid != gpu.hardware.uuid) return false;
  return Lower(gpu.hardware.model).find(Lower(rule.model)) != std::string::npos;
}

void MakeUnhealthy(Gpu& gpu, std::string why) {
  gpu.hardware.healthy = false;
  gpu.unhealthy = std::move(why);
}

// Whether the driver places instances as the table has it, which the scheduler decides by. It tells
// that only while MIG mode is on.
absl::Status CheckPlacements(const Nvml& nvml, NvmlDevice device, const MigModel& model) {
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<NvmlMigProfile> profiles, nvml.MigProfiles(device));
  for (const MigProfile& profile : model.profiles) {
    const auto found =
        std::find_if(profiles.begin(), profiles.end(),
                     [&](const NvmlMigProfile& each) { return each.name == profile.name; });
    if (found == profiles.end()) {
      return absl::NotFoundError("the driver has no profile " + std::string(profile.name));
    }
    TEPHRA_ASSIGN_OR_RETURN(const std::vector<nvml_abi::Placement> placements,
                            nvml.MigPlacements(device, found->id));
    unsigned starts = 0;
    bool same_size = true;
    for (const nvml_abi::Placement& placement : placements) {
      starts |= 1u << (placement.start & 31);
      same_size &= placement.size == profile.memory_slices;
    }
    if (!same_size || starts != profile.starts) {
      return absl::FailedPreconditionError("the driver places " + std::string(profile.name) +
                                           " otherwise than is known of " +
                                           std::string(model.name));
    }
  }
  return absl::OkStatus();
}

// Of a card that answers. `problems` gets why MIG cannot be offered.
Gpu ReadGpu(const Nvml& nvml, const NodeConfig& config, std::size_t index, const NvmlCard& card,
            std::vector<std::string>& problems) {
  Gpu gpu;
  gpu.hardware.uuid = card.uuid;
  gpu.hardware.model = card.model;
  gpu.hardware.memory_mib = card.memory_mib;
  gpu.minor = card.minor;
  gpu.bus_id = card.bus_id;
  gpu.numa = card.numa.value_or(-1);
  gpu.cuda_major = card.cuda_major;
  gpu.cuda_minor = card.cuda_minor;
  std::string mig_model;
  const absl::StatusOr<NvmlMigMode> mode = nvml.MigMode(card.handle);
  if (mode.ok()) {
    gpu.mig_mode = mode->on;
    const CardKind* kind = FindCard(card.pci_device_id);
    const MigModel* model = kind == nullptr ? nullptr : FindMigModel(kind->mig_model);
    absl::Status known = model == nullptr
                             ? absl::NotFoundError("where its MIG instances may lie is not known")
                         : gpu.mig_mode ? CheckPlacements(nvml, card.handle, *model)
                                        : absl::OkStatus();
    if (known.ok()) {
      mig_model = std::string(model->name);
    } else {
      problems.push_back(card.uuid + " (" + card.model + "): " + std::string(known.message()) +
                         "; MIG is not offered");
    }
  }
  ApplyRules(config, index, MigModeTakesReset(card.cuda_major), mig_model, gpu);
  return gpu;
}

}  // namespace

void ApplyRules(const NodeConfig& config, std::size_t index, bool takes_reset,
                const std::string& mig_model, Gpu& gpu) {
  const auto fitting = std::find_if(config.rules.begin(), config.rules.end(),
                                    [&](const DeviceRule& rule) { return Fits(rule, index, gpu); });
  const DeviceRule rule = fitting == config.rules.end() ? DeviceRule{} : *fitting;
  DeviceHardware& hardware = gpu.hardware;
  gpu.reserved = rule.reserved;
  hardware.modes = rule.modes;
  hardware.split_count = rule.split_count;
  hardware.mps_clients = rule.mps_clients;
  hardware.replicas = rule.replicas;
  hardware.compute_factor = rule.compute_factor;
  hardware.memory_factor = rule.memory_factor;
  hardware.mig_model = mig_model;
  constexpr SliceModes kMig = Only(SliceMode::kMig);
  if (mig_model.empty()) hardware.modes &= static_cast<SliceModes>(~kMig);
  // One side of a reset, and not the other.
  if (takes_reset) {
    hardware.modes &= gpu.mig_mode ? kMig : static_cast<SliceModes>(~kMig);
  }
  if (gpu.mig_mode && !hardware.may(SliceMode::kMig)) {
    MakeUnhealthy(gpu, "its MIG mode is on, which the node's configuration does not provide for");
  } else if (hardware.modes == 0) {
    MakeUnhealthy(gpu, "none of the modes that the node's configuration names is possible");
  }
}

Gpus WithinSlots(Gpus gpus, std::int32_t slots_per_gpu) {
  const auto cap = [&](std::int32_t& sharers) {
    sharers = sharers == 0 ? slots_per_gpu : std::min(sharers, slots_per_gpu);
  };
  for (Gpu& gpu : gpus.devices) {
    cap(gpu.hardware.split_count);
    cap(gpu.hardware.mps_clients);
    cap(gpu.hardware.replicas);
  }
  return gpus;
}

absl::StatusOr<Reading> ReadGpus(const Nvml& nvml, const NodeConfig& config, const Gpus& before) {
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<absl::StatusOr<NvmlCard>> found, nvml.Cards());
  Reading reading;
  std::vector<NvmlCard> cards;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].ok()) {
      cards.push_back(*found[i]);
    } else {
      reading.problems.push_back("the driver's GPU " + std::to_string(i) + ": " +
                                 std::string(found[i].status().message()));
    }
  }
  std::vector<Gpu> lost;
  for (const Gpu& gpu : before.devices) {
    const bool there = std::any_of(cards.begin(), cards.end(), [&](const NvmlCard& card) {
      return card.uuid == gpu.hardware.uuid || card.bus_id == gpu.bus_id;
    });
    if (there) continue;
    lost.push_back(gpu);
    MakeUnhealthy(lost.back(), "the driver does not find it any more");
  }
  std::sort(cards.begin(), cards.end(),
            [](const NvmlCard& a, const NvmlCard& b) { return a.bus_id < b.bus_id; });
  for (const NvmlCard& card : cards) {
    const auto earlier = static_cast<std::size_t>(std::count_if(
        lost.begin(), lost.end(), [&](const Gpu& gpu) { return gpu.bus_id < card.bus_id; }));
    const std::size_t index = reading.gpus.devices.size() + earlier;
    reading.gpus.devices.push_back(ReadGpu(nvml, config, index, card, reading.problems));
  }
  if (!lost.empty()) {
    // Links to what is gone cannot be asked for any more.
    reading.gpus.devices.insert(reading.gpus.devices.end(), lost.begin(), lost.end());
    std::sort(reading.gpus.devices.begin(), reading.gpus.devices.end(),
              [](const Gpu& a, const Gpu& b) { return a.bus_id < b.bus_id; });
    const bool same = reading.gpus.devices.size() == before.devices.size();
    if (same) reading.gpus.links = before.links;
  } else if (cards.size() <= static_cast<std::size_t>(kMaxLinkedGpus)) {
    reading.gpus.links = nvml.Links(cards);
  }
  return reading;
}

std::map<std::string, std::int64_t> ExtendedResources(const Gpus& gpus, const NodeConfig& config) {
  std::int64_t memory_mib = 0, cores = 0;
  for (const Gpu& gpu : gpus.devices) {
    if (gpu.reserved) continue;
    memory_mib += gpu.hardware.shareable_memory_mib();
    cores += gpu.hardware.shareable_compute() / 10;  // per mille to per cent
  }
  const auto count = static_cast<std::int64_t>(gpus.devices.size());
  return {{"volcano.sh/vgpu-number", count * config.slots_per_gpu},
          {"volcano.sh/vgpu-memory", memory_mib},
          {"volcano.sh/vgpu-cores", cores}};
}

}  // namespace tephra::node
