#include "text/device_sharing.h"

#include <algorithm>
#include <utility>

#include "topology/mig.h"

namespace tephra {

void ReadDeviceSharing(Fields& fields, DeviceHardware& device) {
  static const std::vector<std::string> kWords = {"whole", "fraction", "mps", "time_slice", "mig"};
  std::vector<std::string> modes;
  const Item list = fields.At("modes");
  if (list.node != nullptr && ReadTexts(list, modes)) {
    device.modes = 0;
    for (const std::string& mode : modes) {
      const auto word = std::find(kWords.begin(), kWords.end(), mode);
      if (word == kWords.end()) {
        list.Wrong("of whole, fraction, mps, time_slice and mig");
        break;
      }
      device.modes |= Only(static_cast<SliceMode>(word - kWords.begin()));
    }
    if (device.modes == 0) list.Wrong("at least one mode");
  }
  fields.Whole("split_count", device.split_count, 0, 10'000);
  fields.Whole("mps_clients", device.mps_clients, 1, 10'000);
  fields.Whole("replicas", device.replicas, 0, 10'000);
  for (const auto& [key, factor] : {std::pair{"compute_factor", &device.compute_factor},
                                    std::pair{"memory_factor", &device.memory_factor}}) {
    std::int64_t per_mille = 0;
    const Item item = fields.At(key);
    if (item.node == nullptr || !ReadQuantity(item, per_mille, kNoFactor)) continue;
    if (per_mille < kNoFactor || per_mille > kMostFactor) {
      item.Wrong("a factor from 1 to " + std::to_string(kMostFactor / kNoFactor));
    } else {
      *factor = static_cast<std::int32_t>(per_mille);
    }
  }
}

void ReadMigModel(Fields& fields, DeviceHardware& device) {
  const Item model = fields.At("mig_model");
  if (model.node != nullptr && ReadText(model, device.mig_model) &&
      FindMigModel(device.mig_model) == nullptr) {
    model.Wrong("a model that MIG cuts, such as " + std::string(MigModels().front().name));
  }
  if (device.may(SliceMode::kMig) && device.mig_model.empty()) {
    fields.At("modes").Wrong("a mig_model beside mig");
  }
}

}  // namespace tephra
