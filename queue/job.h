// Job: what a user submits (a PodGroup); Gang: its all-or-nothing part; Role: tasks made from one
// pod template; Group: tasks of some of its roles that stay together; Task: one pod.
//
// Plain values as the outside world states them; ids and books are State's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/base/status.h"
#include "topology/base/time.h"
#include "topology/node.h"

namespace tephra {

// How a device is shared that is not given whole.
enum class Sharing : std::uint8_t { kHook, kMps, kTimeSlice, kMig };

// What one container asks of devices: `count` devices, of each a share.
struct DeviceRequest {
  std::int32_t count = 0;  // 0: no device
  // Per mille of each device. 0 means no compute share is set aside (a memory-only slice). By the
  // hook library kWholeGpu means the device for itself, all its memory included. A time slice has
  // no bound at run time; it counts as this much.
  std::int32_t compute = static_cast<std::int32_t>(kWholeGpu);
  std::int32_t memory_mib = 0;  // of each device; 0: none set aside
  Sharing sharing = Sharing::kHook;
  // With kMig, of which instance, as nvidia-smi names it: "2g.20gb". Compute and memory are 0 then:
  // they follow from it.
  std::string mig_profile{};

  SliceMode mode() const {
    switch (sharing) {
      case Sharing::kHook:
        return compute == kWholeGpu ? SliceMode::kWhole : SliceMode::kFraction;
      case Sharing::kMps:
        return SliceMode::kMps;
      case Sharing::kTimeSlice:
        return SliceMode::kTimeSlice;
      case Sharing::kMig:
        break;
    }
    return SliceMode::kMig;
  }
  bool whole() const { return mode() == SliceMode::kWhole; }
  bool operator==(const DeviceRequest&) const = default;
};

// The same with the amounts filled in that follow from a MIG profile; the least where models that
// have a profile of the name differ.
DeviceRequest WithAmounts(const DeviceRequest& request);

enum class ContainerKind : std::uint8_t {
  kApp,
  kInit,     // runs to its end before the next one starts
  kSidecar,  // an init container with restartPolicy Always: stays
};

struct ContainerSpec {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  Resources requests;  // kPods, kGpu and kGpuMemory must be zero: they are derived
  DeviceRequest devices;

  bool operator==(const ContainerSpec&) const = default;
};

// At most `max` tasks of `group` in one domain, a domain being the nodes that share a value of
// the label `topology_key` ("kubernetes.io/hostname": the node itself). Self-anti-affinity is
// max 1 of the job's own group; a host port is max 1 of a group named after the port. Nodes
// without the label are not limited.
//
// Where tasks of one group bring different bounds, the smallest among those in the domain holds
// for all of them: in Kubernetes the anti-affinity of a pod that runs keeps others away too.
struct DomainLimit {
  std::string group;
  std::string topology_key;
  std::int32_t max = 1;

  bool operator==(const DomainLimit&) const = default;
};

struct PodTemplate {
  std::vector<ContainerSpec> containers;
  Resources overhead;
  NodeConstraints constraints;
  std::vector<DomainLimit> limits;
  // The user that it runs as. An MPS server serves one user at a time; nothing else looks at it.
  std::uint32_t user_id = 0;

  bool operator==(const PodTemplate&) const = default;
};

struct RoleSpec {
  std::string name;
  std::int32_t replicas = 1;
  std::int32_t min = 0;  // of this role, before any task of the gang (or of its group) may start
  PodTemplate pod;
  std::string group{};  // of the gang's groups; empty: none

  bool operator==(const RoleSpec&) const = default;
};

// How near to each other all tasks of a job, or of one of its groups, are to be.
struct Locality {
  enum class Mode : std::uint8_t {
    kUnsaid,     // as the configuration has it for those that say nothing
    kPreferred,  // as near as there is room
    kRequired,   // in one domain of at most the tier, and as near as there is room
  };
  Mode mode = Mode::kUnsaid;
  // kRequired: the highest tier, or where it has a name: the one that domains give that name.
  std::int32_t highest_tier = 0;
  std::string highest_tier_name;

  bool operator==(const Locality&) const = default;
};

// A gang inside a gang: with at least `min_member` of its tasks, among them its roles' minimums, or
// with none of them.
struct GroupSpec {
  std::string name;
  std::int32_t min_member = 1;
  bool elastic = false;  // the gang starts without it, too
  Locality locality;

  bool operator==(const GroupSpec&) const = default;
};

// A gang starts with at least `min_member` of its tasks, among them each role's minimum and each
// group that is not elastic, or not at all; what is beyond that is elastic, groups whole.
struct GangSpec {
  std::int32_t min_member = 1;
  std::vector<RoleSpec> roles;
  std::vector<GroupSpec> groups;

  bool operator==(const GangSpec&) const = default;
};

// Room that was set aside for a task before the engine that did so was gone.
struct HeldRoom {
  std::string role;
  std::int32_t index = 0;
  std::string node;
  Slices slices;

  bool operator==(const HeldRoom&) const = default;
};

struct JobSpec {
  std::string uid;
  std::string name;
  std::string queue;
  std::int32_t priority = 0;
  TimeMs created = 0;
  GangSpec gang;
  // False: nobody has created its pods yet (Volcano does so once the group is admitted), and each
  // task may be placed. True: a task asks to run only while a pod of it is known.
  bool pods_exist = false;
  // Whether others may have its tasks evicted, and how long each is left alone after its start.
  bool preemptible = true;
  DurationMs min_run_ms = 0;
  // Whether its tasks may be moved for a gang that finds room only in pieces: evicted, to start
  // again elsewhere at once.
  bool movable = false;
  bool evicts = true;          // false: it waits until there is room, and nobody is evicted for it
  std::int32_t evictions = 0;  // how often it was evicted, as far as somebody wrote it down
  std::vector<HeldRoom> held;  // taken over when the job is first seen
  std::string user;  // whose it is, for shares among the users of a queue; empty: nobody's
  Locality locality;
  DurationMs expected_run_ms = 0;  // how long each of its tasks is expected to run; 0: not known

  bool operator==(const JobSpec&) const = default;
};

// Of what a job is expected to run: 34 years.
constexpr DurationMs kMostRunMs = DurationMs{1} << 40;

// Tasks of a job, over all its roles.
constexpr std::int32_t kMaxTasks = 1'000'000;

// INVALID_ARGUMENT with the field and the numbers: an amount or a tier below zero or too large to
// sum, a minimum above what the roles have, a fraction above a whole, a limit given twice, more
// tasks or containers than there is room for, a role of a group that there is not. ALREADY_EXISTS
// for two roles or groups of one name.
absl::Status ValidateJob(const JobSpec& job);
absl::Status ValidatePod(const std::string& where, const PodTemplate& pod);

}  // namespace tephra
