#include "plugins/node/show.h"

#include <sstream>

namespace tephra::node {
namespace {

void ShowMig(std::ostream& out, const Nvml& nvml, NvmlDevice device) {
  const auto mode = nvml.MigMode(device);
  if (!mode.ok()) {
    out << "  MIG: " << mode.status().message() << '\n';
    return;
  }
  out << "  MIG mode " << (mode->on ? "on" : "off")
      << (mode->on == mode->pending ? "" : ", to change with the next reset") << '\n';
  const auto profiles = nvml.MigProfiles(device);
  if (!profiles.ok()) out << "  profiles: " << profiles.status().message() << '\n';
  for (std::size_t i = 0; profiles.ok() && i < profiles->size(); ++i) {
    const NvmlMigProfile& profile = (*profiles)[i];
    out << "  " << profile.name << " (" << profile.id << "): " << profile.compute_slices
        << " slices, " << profile.multiprocessors << " SMs, " << profile.memory_mib
        << " MiB, at most " << profile.most;
    const auto placements = nvml.MigPlacements(device, profile.id);
    out << (placements.ok() ? ", begins at" : "");
    for (std::size_t p = 0; placements.ok() && p < placements->size(); ++p) {
      out << ' ' << (*placements)[p].start << ':' << (*placements)[p].size;
    }
    out << '\n';
  }
}

void ShowCard(std::ostream& out, const Nvml& nvml, const NvmlCard& card) {
  out << card.uuid << "  " << card.model << ", " << card.memory_mib << " MiB, PCI " << card.bus_id
      << std::hex << ", id " << card.pci_device_id << std::dec << ", minor " << card.minor
      << ", compute " << card.cuda_major << '.' << card.cuda_minor << ", NUMA node "
      << card.numa.value_or(-1) << '\n';
  const auto use = nvml.Use(card.handle);
  out << "  use: "
      << (use.ok() ? (use->compute_percent ? std::to_string(*use->compute_percent) + " %, " : "") +
                         std::to_string(use->used_memory_mib) + " MiB"
                   : std::string(use.status().message()))
      << '\n';
  const auto errors = nvml.EccErrors(card.handle);
  out << "  uncorrected memory errors: "
      << (errors.ok() ? std::to_string(*errors) : std::string(errors.status().message())) << '\n';
  const auto processes = nvml.Processes(card.handle);
  out << "  processes: "
      << (processes.ok() ? std::to_string(processes->size())
                         : std::string(processes.status().message()))
      << '\n';
  const auto events = nvml.WatchEvents();
  const absl::Status watched = events.ok() ? (*events)->Watch(card.handle) : events.status();
  out << "  events: " << (watched.ok() ? "yes" : std::string(watched.message())) << '\n';
  ShowMig(out, nvml, card.handle);
}

}  // namespace

absl::StatusOr<std::string> ShowDriver(const Nvml& nvml, const NodeConfig& config) {
  std::ostringstream out;
  out << "driver " << nvml.DriverVersion().value_or("?") << ", CUDA "
      << nvml.CudaVersion().value_or(0) << '\n';
  const auto cards = nvml.Cards();
  for (std::size_t i = 0; cards.ok() && i < cards->size(); ++i) {
    if ((*cards)[i].ok()) {
      ShowCard(out, nvml, *(*cards)[i]);
    } else {
      out << "GPU " << i << ": " << (*cards)[i].status().message() << '\n';
    }
  }
  TEPHRA_ASSIGN_OR_RETURN(const Reading reading, ReadGpus(nvml, config, {}));
  const Gpus shown = WithinSlots(reading.gpus, config.slots_per_gpu);
  for (const std::string& problem : reading.problems) out << "problem: " << problem << '\n';
  out << kInventoryKey << ": " << FormatInventory(shown).value_or("(too long)") << '\n'
      << kVgpuRegisterKey << ": " << FormatVgpuRegister(shown, config) << '\n';
  for (const auto& [name, amount] : ExtendedResources(shown, config)) {
    out << name << ": " << amount << '\n';
  }
  for (const auto& [name, value] :
       FeatureLabels(shown, nvml.DriverVersion().value_or(""), nvml.CudaVersion().value_or(0))) {
    out << name << '=' << value << '\n';
  }
  return out.str();
}

}  // namespace tephra::node
