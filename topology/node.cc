#include "topology/node.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "topology/mig.h"

namespace tephra {
namespace {

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.any_effect && toleration.effect != taint.effect) return false;
  const bool exists = toleration.op == Toleration::Operator::kExists;
  if (toleration.key.empty()) return exists;
  if (toleration.key != taint.key) return false;
  return exists || toleration.value == taint.value;
}

bool Tolerated(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& t) { return Tolerates(t, taint); });
}

std::optional<std::int64_t> Integer(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// `value` is null if the label is absent. NotIn and DoesNotExist hold for an absent label.
bool Holds(const LabelRequirement& requirement, const std::string* value) {
  using Operator = LabelRequirement::Operator;
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), *value) !=
           requirement.values.end();
  };
  switch (requirement.op) {
    case Operator::kIn:
      return value != nullptr && listed();
    case Operator::kNotIn:
      return value == nullptr || !listed();
    case Operator::kExists:
      return value != nullptr;
    case Operator::kDoesNotExist:
      return value == nullptr;
    case Operator::kGt:
    case Operator::kLt: {
      if (value == nullptr || requirement.values.size() != 1) return false;
      const auto have = Integer(*value), bound = Integer(requirement.values[0]);
      if (!have || !bound) return false;
      return requirement.op == Operator::kGt ? *have > *bound : *have < *bound;
    }
  }
  return false;
}

bool Holds(const NodeSelectorTerm& term, const NodeSpec& node) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  for (const LabelRequirement& requirement : term.expressions) {
    const auto label = node.labels.find(requirement.key);
    if (!Holds(requirement, label == node.labels.end() ? nullptr : &label->second)) return false;
  }
  for (const LabelRequirement& requirement : term.fields) {
    if (requirement.key != "metadata.name" || !Holds(requirement, &node.name)) return false;
  }
  return true;
}

bool Selected(const NodeSpec& node, const NodeConstraints& constraints) {
  for (const auto& [key, value] : constraints.selector) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return false;
  }
  return constraints.affinity.empty() ||
         std::any_of(constraints.affinity.begin(), constraints.affinity.end(),
                     [&](const NodeSelectorTerm& term) { return Holds(term, node); });
}

// Ten TB/s: the sum over all pairs of 16 GPUs stays within 32 bits.
constexpr std::int32_t kMostMbPerS = 10'000'000;

constexpr std::int64_t kMostSharers = 10'000;  // of one device; fits into the counters of 16 bits

absl::Status ValidateLinks(const std::string& where, const NodeSpec& node) {
  const int gpus = node.gpu_links.gpus();
  if (gpus == 0) return absl::OkStatus();
  if (static_cast<std::size_t>(gpus) != node.devices.size()) {
    return absl::InvalidArgumentError(
        where + ": gpu_links: " + std::to_string(gpus) +
        " GPUs, expected as many as devices: " + std::to_string(node.devices.size()));
  }
  for (int a = 0; a < gpus; ++a) {
    for (int b = 0; b < a; ++b) {
      const std::int32_t speed = node.gpu_links.at(a, b).mb_per_s;
      if (speed >= 0 && speed <= kMostMbPerS) continue;
      return absl::InvalidArgumentError(where + ": gpu_links: mb_per_s: " + std::to_string(speed) +
                                        ", expected 0 to " + std::to_string(kMostMbPerS));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateDevice(const std::string& where, const DeviceHardware& device) {
  const auto within = [&](const char* field, std::int64_t value, std::int64_t least,
                          std::int64_t most) {
    if (value >= least && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(where + ": device " + field + ": " + std::to_string(value) +
                                      ", expected " + std::to_string(least) + " to " +
                                      std::to_string(most));
  };
  TEPHRA_RETURN_IF_ERROR(within("memory_mib", device.memory_mib, 0, kMaxDeviceMib));
  TEPHRA_RETURN_IF_ERROR(within("modes", device.modes, 1, (1 << kSliceModes) - 1));
  TEPHRA_RETURN_IF_ERROR(within("split_count", device.split_count, 0, kMostSharers));
  TEPHRA_RETURN_IF_ERROR(within("mps_clients", device.mps_clients, 1, kMostSharers));
  TEPHRA_RETURN_IF_ERROR(within("replicas", device.replicas, 0, kMostSharers));
  TEPHRA_RETURN_IF_ERROR(within("compute_factor", device.compute_factor, kNoFactor, kMostFactor));
  TEPHRA_RETURN_IF_ERROR(within("memory_factor", device.memory_factor, kNoFactor, kMostFactor));
  const bool known = FindMigModel(device.mig_model) != nullptr;
  if (known || (device.mig_model.empty() && !device.may(SliceMode::kMig))) return absl::OkStatus();
  return absl::InvalidArgumentError(where + ": device mig_model: \"" + device.mig_model +
                                    "\", expected the name of one, such as \"" +
                                    std::string(MigModels().front().name) + "\"");
}

constexpr std::size_t kMostLimits = 256;  // of one node

absl::Status ValidateLimits(const std::string& where, const NodeSpec& node) {
  if (node.limits.size() > kMostLimits) {
    return absl::InvalidArgumentError(where + ": limits: " + std::to_string(node.limits.size()) +
                                      ", expected at most " + std::to_string(kMostLimits));
  }
  for (const auto& [group, places] : node.limits) {
    if (group.empty()) return absl::InvalidArgumentError(where + ": limits: a limit needs a group");
    if (places >= 0) continue;
    return absl::InvalidArgumentError(where + ": limits[" + group + "]: " + std::to_string(places) +
                                      ", expected at least 0");
  }
  return absl::OkStatus();
}

}  // namespace

std::int32_t PlacesOf(const NodeSpec& node, const std::string& group) {
  const auto it = node.limits.find(group);
  return it == node.limits.end() ? std::numeric_limits<std::int32_t>::max() : it->second;
}

absl::Status ValidateNode(const NodeSpec& node) {
  const std::string where = "node \"" + node.name + "\"";
  if (node.name.empty()) return absl::InvalidArgumentError("node: name: empty");
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    const std::int64_t amount = node.allocatable[kind];
    const bool derived = kind == kGpu || kind == kGpuMemory;
    if (amount < 0 || amount > (derived ? 0 : kMaxAmount)) {
      return absl::InvalidArgumentError(
          where + ": allocatable[kind " + std::to_string(kind) + "]: " + std::to_string(amount) +
          (derived ? ", expected 0, it is derived from devices"
                   : ", expected 0 to " + std::to_string(kMaxAmount)));
    }
  }
  if (node.devices.size() > kMaxDevices) {
    return absl::InvalidArgumentError(where + ": devices: " + std::to_string(node.devices.size()) +
                                      ", expected at most " + std::to_string(kMaxDevices));
  }
  std::set<std::string_view> uuids;
  for (const DeviceHardware& device : node.devices) {
    TEPHRA_RETURN_IF_ERROR(ValidateDevice(where, device));
    if (!device.uuid.empty() && !uuids.insert(device.uuid).second) {
      return absl::InvalidArgumentError(where + ": device uuid: \"" + device.uuid +
                                        "\", expected each device once");
    }
  }
  TEPHRA_RETURN_IF_ERROR(ValidateLimits(where, node));
  return ValidateLinks(where, node);
}

bool ModelAllowed(const std::vector<std::string>& models, const std::string& model) {
  return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
}

bool DeviceAllowed(const NodeConstraints& constraints, const DeviceHardware& device) {
  const auto named = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return ModelAllowed(constraints.device_models, device.model) &&
         !named(constraints.excluded_models, device.model) &&
         (constraints.device_uuids.empty() || named(constraints.device_uuids, device.uuid)) &&
         !named(constraints.excluded_uuids, device.uuid);
}

bool NamesHosts(const NodeConstraints& constraints) {
  return NamesDevices(constraints) || constraints.selector.contains(kHostnameKey) ||
         std::any_of(constraints.affinity.begin(), constraints.affinity.end(),
                     [](const NodeSelectorTerm& term) {
                       return !term.fields.empty() ||
                              std::any_of(term.expressions.begin(), term.expressions.end(),
                                          [](const LabelRequirement& requirement) {
                                            return requirement.key == kHostnameKey;
                                          });
                     });
}

Ineligible CheckNode(const NodeSpec& node, const NodeConstraints& constraints, bool needs_device) {
  static const Taint kCordon{"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule};
  if (node.unschedulable && !Tolerated(constraints.tolerations, kCordon)) {
    return Ineligible::kUnschedulable;
  }
  for (const Taint& taint : node.taints) {
    if (taint.effect != TaintEffect::kPreferNoSchedule &&
        !Tolerated(constraints.tolerations, taint)) {
      return Ineligible::kTaint;
    }
  }
  if (!Selected(node, constraints)) return Ineligible::kSelector;
  const bool picks = !constraints.device_models.empty() || !constraints.excluded_models.empty() ||
                     NamesDevices(constraints);
  if (needs_device && picks &&
      std::none_of(node.devices.begin(), node.devices.end(), [&](const DeviceHardware& device) {
        return DeviceAllowed(constraints, device);
      })) {
    return Ineligible::kModel;
  }
  return Ineligible::kNo;
}

}  // namespace tephra
