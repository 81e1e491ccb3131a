// Use: what GPUs and the containers on them use now. Sources are the driver, for a card and its
// processes, and HAMi-core's library, for the containers that it limits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/node/binding/books.h"
#include "plugins/node/nvml/nvml.h"

namespace tephra::node {

// Nothing: not known.
struct Used {
  std::optional<std::int64_t> memory_bytes;
  std::optional<int> compute_percent;  // of the whole GPU
};

struct UseNow {
  std::vector<Used> gpus;                                      // in the order of Gpus::devices
  std::map<std::pair<std::string, std::size_t>, Used> slices;  // by nonce and GPU
};

struct UseSettings {
  std::string hook_folder;  // HookSettings::folder
  std::string proc = "/proc";
};

// Asks the driver, which may take long where a card is sick. `nvml` null: only the library is
// asked.
UseNow ReadUse(const UseSettings& settings, const Nvml* nvml, const Gpus& gpus,
               const std::map<std::string, Holding>& holdings);

}  // namespace tephra::node
