// The devices of a case's nodes.
//
// KAI counts MIG instances that exist already. With us a device is partitioned when a task needs an
// instance. So each instance of a node is a device of its own, with the profile as its model, and a
// foreign pod has all of the device but the room for one instance. The whole GPUs come first.
#pragma once

#include <string>
#include <vector>

#include "engine/event.h"
#include "tests/peers/kai_case.h"
#include "topology/mig.h"

namespace tephra {

// The label that names the type of a node; by default the name of the node.
constexpr const char* kKaiTypeKey = "kai.scheduler/type";
std::string KaiTypeOf(const KaiNode& node);

// The model that has instances of the profile: the node's own, or else the first one that has; null: none.
const MigModel* KaiMigModel(const std::string& gpu_name, const std::string& profile);

// The profile of each device; empty: a whole GPU.
std::vector<std::string> KaiDevices(const KaiNode& node);
// The model by which a task names devices for instances of the profile.
std::string KaiMigDeviceModel(const std::string& profile);

NodeSpec KaiHardware(const KaiNode& node);
// The foreign pods of the node.
std::vector<TaskFact> KaiForeignPods(const KaiNode& node);
// What KAI counts as a GPU in quotas, in per mille of ours: the compute slice of an instance, if the
// case asks for instances only; else a whole GPU.
std::int64_t KaiGpuUnit(const KaiCase& one);
// The one instance that there is room for on a device of the profile.
Slice KaiMigSlice(const KaiNode& node, const std::string& profile, std::uint16_t device);

}  // namespace tephra
