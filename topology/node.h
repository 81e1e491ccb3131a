// Node: a machine of the cluster, and the Kubernetes rules for which pods may use it: labels,
// taints, node selectors, required node affinity, tolerations.
//
// Sources: Kubernetes API core/v1 (NodeSelectorTerm, Taint, Toleration). Pure values, no thread
// rule.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "topology/device.h"
#include "topology/links.h"
#include "topology/resources.h"

namespace tephra {

// Ordered, so that equal sets are equal values.
using Labels = std::map<std::string, std::string>;

// The label that is different for each node.
inline constexpr char kHostnameKey[] = "kubernetes.io/hostname";
// Not a label: as a topology key, all nodes of the cluster are one domain.
inline constexpr char kClusterKey[] = "tephra.sh/cluster";

enum class TaintEffect : std::uint8_t { kNoSchedule, kPreferNoSchedule, kNoExecute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;

  bool operator==(const Taint&) const = default;
};

struct NodeSpec {
  std::string name;
  Labels labels;
  std::vector<Taint> taints;
  bool unschedulable = false;  // cordoned, or not ready
  // Capacity less system reservations. kGpu and kGpuMemory are derived from `devices` and must
  // be zero here.
  Resources allocatable;
  std::vector<DeviceHardware> devices;
  // The links between the devices, in their order. 0 GPUs: unknown, so all links count as equal.
  NodeLinks gpu_links;
  // How many places of a group (DomainLimit) the node has, such as volumes that it can attach. A group
  // without an entry has no bound.
  std::map<std::string, std::int32_t> limits;

  bool operator==(const NodeSpec&) const = default;
};

// Of the group on the node; the largest number if there is no bound.
std::int32_t PlacesOf(const NodeSpec& node, const std::string& group);

// INVALID_ARGUMENT with the field and the value: an empty name, an amount below zero or too large
// to sum, a derived kind, more devices than a slice can number, a duplicate device, an invalid
// mode, bound or factor, an unknown MIG model, links for more or fewer GPUs than devices, or with
// an impossible speed; a limit below zero or without a group, or too many limits.
absl::Status ValidateNode(const NodeSpec& node);

struct Toleration {
  std::string key;  // empty with kExists: every taint
  std::string value;
  enum class Operator : std::uint8_t { kEqual, kExists } op = Operator::kEqual;
  bool any_effect = true;
  TaintEffect effect = TaintEffect::kNoSchedule;  // read only if !any_effect

  bool operator==(const Toleration&) const = default;
};

struct LabelRequirement {
  enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };
  std::string key;
  Operator op = Operator::kIn;
  std::vector<std::string> values;

  bool operator==(const LabelRequirement&) const = default;
};

// All expressions and all fields must hold; a term without any matches nothing.
struct NodeSelectorTerm {
  std::vector<LabelRequirement> expressions;  // over labels
  std::vector<LabelRequirement> fields;       // over metadata.name, kIn and kNotIn only

  bool operator==(const NodeSelectorTerm&) const = default;
};

// What a pod requires of the node itself, apart from free resources.
struct NodeConstraints {
  Labels selector;                         // each must be equal
  std::vector<NodeSelectorTerm> affinity;  // one must hold; empty: no requirement
  std::vector<Toleration> tolerations;
  // The devices that the pod may use. Empty: any device.
  std::vector<std::string> device_models;
  std::vector<std::string> device_uuids;
  std::vector<std::string> excluded_models;  // none of these
  std::vector<std::string> excluded_uuids;
  // Name of a mask (engine/mask.h): nodes that only Volcano's predicates can exclude.
  // Empty: none. CheckNode does not use it.
  std::string mask;

  bool operator==(const NodeConstraints&) const = default;
};

// Why a pod may not use a node, whatever room the node has.
enum class Ineligible : std::uint8_t { kNo, kUnschedulable, kTaint, kSelector, kModel };

// Checked in the order unschedulable, taint, selector, affinity. With `needs_device` it also checks
// that the node has a device that the pod may use; Fit checks each device. Pods that tolerate
// node.kubernetes.io/unschedulable:NoSchedule may use a cordoned node, as in kube-scheduler.
Ineligible CheckNode(const NodeSpec& node, const NodeConstraints& constraints, bool needs_device);

// Whether the rules name single hosts or devices.
bool NamesHosts(const NodeConstraints& constraints);

// Whether the device has one of the models, or no model is named.
bool ModelAllowed(const std::vector<std::string>& models, const std::string& model);

// Whether the device is one of the named devices, if any, and not excluded.
bool DeviceAllowed(const NodeConstraints& constraints, const DeviceHardware& device);
// Whether the rules name single devices.
inline bool NamesDevices(const NodeConstraints& constraints) {
  return !constraints.device_uuids.empty() || !constraints.excluded_uuids.empty();
}

}  // namespace tephra
