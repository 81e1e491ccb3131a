#include "tests/support/slice_rules.h"

#include <algorithm>
#include <string>

#include "topology/mig.h"

namespace tephra::slice_rules {

std::vector<std::vector<std::size_t>> Phases(const PodTemplate& pod) {
  std::vector<std::vector<std::size_t>> phases;
  std::vector<std::size_t> staying;
  for (std::size_t c = 0; c < pod.containers.size(); ++c) {
    if (pod.containers[c].kind == ContainerKind::kSidecar) staying.push_back(c);
    if (pod.containers[c].kind == ContainerKind::kInit) {
      phases.push_back(staying);
      phases.back().push_back(c);
    }
  }
  for (std::size_t c = 0; c < pod.containers.size(); ++c) {
    if (pod.containers[c].kind == ContainerKind::kApp) staying.push_back(c);
  }
  phases.push_back(staying);
  return phases;
}

Slices SlicesOf(const DeviceRequest& asked, const DeviceHardware& hardware) {
  Slice slice{0, 0, asked.mode(), asked.compute, asked.memory_mib};
  if (slice.mode == SliceMode::kWhole) slice.memory_mib = hardware.memory_mib;
  if (slice.mode != SliceMode::kMig) return {slice};
  Slices all;
  const MigModel* model = FindMigModel(hardware.mig_model);
  for (std::size_t p = 0; model != nullptr && p < model->profiles.size(); ++p) {
    const MigProfile& profile = model->profiles[p];
    if (profile.name != asked.mig_profile) continue;
    const std::string name(profile.name);
    const std::int64_t gigabytes = std::stoll(name.substr(name.find('.') + 1));
    slice.compute = 1000 * profile.compute_slices / model->compute_slices;
    slice.memory_mib = static_cast<std::int32_t>(gigabytes * 1'000'000'000 / (1 << 20));
    slice.mig_profile = static_cast<std::uint8_t>(p);
    for (int start = 0; start < 8; ++start) {
      slice.mig_start = static_cast<std::uint8_t>(start);
      if ((profile.starts & 1 << start) != 0) all.push_back(slice);
    }
  }
  return all;
}

bool IsInstance(Slice slice, const DeviceRequest& asked, const DeviceHardware& hardware) {
  slice.container = slice.device = 0;
  const Slices all = SlicesOf(asked, hardware);
  return std::find(all.begin(), all.end(), slice) != all.end();
}

bool MixesModes(const Slices& slices) {
  for (const Slice& a : slices) {
    for (const Slice& b : slices) {
      const bool by_hook = a.mode <= SliceMode::kFraction && b.mode <= SliceMode::kFraction;
      if (a.device == b.device && a.mode != b.mode && !by_hook) return true;
    }
  }
  return false;
}

}  // namespace tephra::slice_rules
