// tephra-node-show: prints what the driver of this machine tells, and what the cluster would be
// told of it. It changes nothing. For whoever sets a node up, and to see NVML itself at work.
#include <cstdio>
#include <iostream>
#include <string>

#include "plugins/node/inventory.h"
#include "plugins/node/nvml/nvml.h"

namespace {

using namespace tephra::node;  // NOLINT: a program of one file

void ShowMig(const Nvml& nvml, NvmlDevice device) {
  const auto mode = nvml.MigMode(device);
  if (!mode.ok()) {
    std::cout << "  MIG: " << mode.status().message() << '\n';
    return;
  }
  std::cout << "  MIG mode " << (mode->on ? "on" : "off")
            << (mode->on == mode->pending ? "" : ", to change with the next reset") << '\n';
  const auto profiles = nvml.MigProfiles(device);
  if (!profiles.ok()) std::cout << "  profiles: " << profiles.status().message() << '\n';
  for (std::size_t i = 0; profiles.ok() && i < profiles->size(); ++i) {
    const NvmlMigProfile& profile = (*profiles)[i];
    std::cout << "  " << profile.name << " (" << profile.id << "): " << profile.compute_slices
              << " slices, " << profile.multiprocessors << " SMs, " << profile.memory_mib
              << " MiB, at most " << profile.most;
    const auto placements = nvml.MigPlacements(device, profile.id);
    std::cout << (placements.ok() ? ", begins at" : "");
    for (std::size_t p = 0; placements.ok() && p < placements->size(); ++p) {
      std::cout << ' ' << (*placements)[p].start << ':' << (*placements)[p].size;
    }
    std::cout << '\n';
  }
}

void ShowCard(const Nvml& nvml, const NvmlCard& card) {
  std::cout << card.uuid << "  " << card.model << ", " << card.memory_mib << " MiB, PCI "
            << card.bus_id << std::hex << ", id " << card.pci_device_id << std::dec << ", minor "
            << card.minor << ", compute " << card.cuda_major << '.' << card.cuda_minor
            << ", NUMA node " << card.numa.value_or(-1) << '\n';
  const auto use = nvml.Use(card.handle);
  std::cout << "  use: "
            << (use.ok() ? std::to_string(use->compute_percent) + " %, " +
                               std::to_string(use->used_memory_mib) + " MiB"
                         : std::string(use.status().message()))
            << '\n';
  const auto errors = nvml.EccErrors(card.handle);
  std::cout << "  uncorrected memory errors: "
            << (errors.ok() ? std::to_string(*errors) : std::string(errors.status().message()))
            << '\n';
  const auto processes = nvml.Processes(card.handle);
  std::cout << "  processes: "
            << (processes.ok() ? std::to_string(processes->size())
                               : std::string(processes.status().message()))
            << '\n';
  const auto events = nvml.WatchEvents();
  const absl::Status watched = events.ok() ? (*events)->Watch(card.handle) : events.status();
  std::cout << "  events: " << (watched.ok() ? "yes" : std::string(watched.message())) << '\n';
  ShowMig(nvml, card.handle);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    std::cerr << "usage: tephra-node-show [LIBRARY]    default: libnvidia-ml.so.1\n";
    return 2;
  }
  Nvml::Options options;
  if (argc == 2) options.library = argv[1];
  const auto nvml = Nvml::Load(options);
  if (!nvml.ok()) {
    std::cerr << "tephra-node-show: " << nvml.status().message() << '\n';
    return 1;
  }
  std::cout << "driver " << (*nvml)->DriverVersion().value_or("?") << ", CUDA "
            << (*nvml)->CudaVersion().value_or(0) << '\n';
  const auto cards = (*nvml)->Cards();
  for (std::size_t i = 0; cards.ok() && i < cards->size(); ++i) {
    if ((*cards)[i].ok()) {
      ShowCard(**nvml, *(*cards)[i]);
    } else {
      std::cout << "GPU " << i << ": " << (*cards)[i].status().message() << '\n';
    }
  }
  const auto reading = ReadGpus(**nvml, {}, {});
  if (!reading.ok()) {
    std::cerr << "tephra-node-show: " << reading.status().message() << '\n';
    return 1;
  }
  for (const std::string& problem : reading->problems) std::cout << "problem: " << problem << '\n';
  std::cout << "tephra.sh/gpu-inventory: " << FormatInventory(reading->gpus).value_or("(too long)")
            << "\nvolcano.sh/node-vgpu-register: " << FormatVgpuRegister(reading->gpus, {}) << '\n';
  for (const auto& [name, amount] : ExtendedResources(reading->gpus, {})) {
    std::cout << name << ": " << amount << '\n';
  }
  for (const auto& [name, value] :
       FeatureLabels(reading->gpus, (*nvml)->DriverVersion().value_or(""),
                     (*nvml)->CudaVersion().value_or(0))) {
    std::cout << name << '=' << value << '\n';
  }
  return 0;
}
