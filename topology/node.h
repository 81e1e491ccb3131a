// Node: a machine as the cluster describes it, and the Kubernetes rules by which a pod may or
// may not use it: labels, taints, node selectors, required node affinity, tolerations.
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

// The label by which a node is told from all others.
inline constexpr char kHostnameKey[] = "kubernetes.io/hostname";

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
  // Between the devices, in their order. Of 0 GPUs where not known: then all are alike.
  NodeLinks gpu_links;

  bool operator==(const NodeSpec&) const = default;
};

// INVALID_ARGUMENT with the field and the value: an empty name, an amount below zero or too large
// to sum, a derived kind that is given, more devices than a slice can number, one device twice, a
// mode, a bound or a factor that no device has, a MIG model that is not known,
// links of more or fewer GPUs than there are devices, or of no sensible speed.
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

// What a pod demands of the node itself, apart from room.
struct NodeConstraints {
  Labels selector;                         // each must be equal
  std::vector<NodeSelectorTerm> affinity;  // one must hold; none given: no demand
  std::vector<Toleration> tolerations;
  // Of the devices that it may have. None given: any.
  std::vector<std::string> device_models;
  std::vector<std::string> device_uuids;
  std::vector<std::string> excluded_models;  // none of these
  std::vector<std::string> excluded_uuids;
  // Name of a mask (plugins/framework/mask.h): nodes ruled out for reasons that only whoever
  // carries plans out can judge. Empty: none. CheckNode does not know it.
  std::string mask;

  bool operator==(const NodeConstraints&) const = default;
};

// Why a node is out of the question for a pod, whatever room it has.
enum class Ineligible : std::uint8_t { kNo, kUnschedulable, kTaint, kSelector, kModel };

// Checked in the order unschedulable, taint, selector and affinity; which devices it may have is
// checked per device by the Fit question, and here only "has such a device at all" when
// `needs_device`. A cordoned node is open to pods that tolerate
// node.kubernetes.io/unschedulable:NoSchedule, as in kube-scheduler.
Ineligible CheckNode(const NodeSpec& node, const NodeConstraints& constraints, bool needs_device);

// Whether the rules tell one host from another by its name, or by those of its devices.
bool NamesHosts(const NodeConstraints& constraints);

// The device is of one of the models, or none is named.
bool ModelAllowed(const std::vector<std::string>& models, const std::string& model);

// The device is among those named, if any are, and not among those left out.
bool DeviceAllowed(const NodeConstraints& constraints, const DeviceHardware& device);
// The rules tell devices of one model apart.
inline bool NamesDevices(const NodeConstraints& constraints) {
  return !constraints.device_uuids.empty() || !constraints.excluded_uuids.empty();
}

}  // namespace tephra
