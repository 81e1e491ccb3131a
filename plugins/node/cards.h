// Cards: what is known of NVIDIA's cards before the driver is asked: by PCI device id, of which MIG
// model a card is. The other facts are for stand-ins (fake_nvml/); of a real card the driver tells
// them.
//
// MIG models: their PCI ids as HAMi and the MIG User Guide pair them. Pure values.
#pragma once

#include <cstdint>
#include <string_view>

namespace tephra::node {

struct CardKind {
  std::uint16_t pci_device_id = 0;
  std::string_view model;      // as the driver names it
  std::string_view mig_model;  // of topology/mig.h; empty: MIG does not cut it
  int memory_mib = 0;
  int cuda_major = 0, cuda_minor = 0;
};

// Null: not known.
const CardKind* FindCard(std::uint16_t pci_device_id);
// The first card of the MIG model, or else of the name.
const CardKind* FindCardByName(std::string_view mig_model_or_name);

// "hopper", as GPU Feature Discovery labels a node; empty: not known.
std::string_view CardFamily(int cuda_major, int cuda_minor);

// Whether a change of the card's MIG mode takes a reset of it: so on Ampere, no longer from Hopper
// on (MIG User Guide, "Enable MIG Mode").
inline bool MigModeTakesReset(int cuda_major) { return cuda_major < 9; }

}  // namespace tephra::node
