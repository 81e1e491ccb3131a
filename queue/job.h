// Job: what a user submits (a PodGroup); Gang: its all-or-nothing part; Role: tasks made from one
// pod template; Group: tasks of some of its roles that stay together; Task: one pod.
//
// Plain values from outside. State adds ids and derived data.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "topology/base/status.h"
#include "topology/base/time.h"
#include "topology/node.h"

namespace tephra {

// How a device is shared.
enum class Sharing : std::uint8_t { kHook, kMps, kTimeSlice, kMig };

// What one container requests: `count` devices, and a share of each.
struct DeviceRequest {
  std::int32_t count = 0;  // 0: no device
  // Per mille of each device. 0 requests memory without a compute share. With the hook library
  // kWholeGpu means the whole device with all its memory. A time slice has no bound at run time; it
  // counts as this much.
  std::int32_t compute = static_cast<std::int32_t>(kWholeGpu);
  std::int32_t memory_mib = 0;  // of each device; 0: no memory share
  Sharing sharing = Sharing::kHook;
  // With kMig, the profile as nvidia-smi names it: "2g.20gb". Compute and memory are then 0,
  // because they follow from the profile.
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

// The request with the amounts that follow from a MIG profile; the least amounts if models with
// that profile differ.
DeviceRequest WithAmounts(const DeviceRequest& request);

enum class ContainerKind : std::uint8_t {
  kApp,
  kInit,     // runs to its end before the next one starts
  kSidecar,  // an init container with restartPolicy Always: keeps running
};

struct ContainerSpec {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  Resources requests;  // kPods, kGpu and kGpuMemory must be zero: they are derived
  DeviceRequest devices;

  bool operator==(const ContainerSpec&) const = default;
};

// At most `max` tasks of `group` in one domain, a domain being the nodes that share a value of
// the label `topology_key` ("kubernetes.io/hostname": the node itself; kClusterKey: the cluster). Nodes
// without the label are not limited.
//
// If tasks with a limit of one group have different bounds, the smallest bound in the domain
// applies to all tasks of the group: in Kubernetes the anti-affinity of a running pod also excludes
// other pods. So a group says what stands in the way of what:
//   - a host port: every pod that has it is of the group, max 1
//   - anti-affinity: pods that carry the term have max 1, or max 0 if the term does not match them,
//     which then are not `counted`; pods that it matches and that do not carry it have no bound
//   - a claim of one pod (ReadWriteOncePod): every pod that uses it is of the group, max 1 in the cluster
//
// A limit of the node: a task takes places, and NodeSpec::limits says how many places of the group a
// node has. A task takes `own` places, and one for each name in `shared` that no other task on the node
// has. Volumes are such a limit: a volume that several pods of a node use is attached once. A node that
// has too few places is still open to tasks that take no further place. `max` and `counted` mean nothing.
struct DomainLimit {
  static constexpr std::int32_t kNoBound = std::numeric_limits<std::int32_t>::max();
  std::string group;
  std::string topology_key;
  std::int32_t max = 1;
  bool counted = true;  // whether the task itself is of the group
  std::int32_t own = 0;
  std::vector<std::string> shared{};

  bool of_node() const { return own > 0 || !shared.empty(); }
  bool operator==(const DomainLimit&) const = default;
};

struct PodTemplate {
  std::vector<ContainerSpec> containers;
  Resources overhead;
  NodeConstraints constraints;
  std::vector<DomainLimit> limits;
  // The user id of the pod. Used only for MPS, because an MPS server serves one user at a time.
  std::uint32_t user_id = 0;

  bool operator==(const PodTemplate&) const = default;
};

struct RoleSpec {
  std::string name;
  std::int32_t replicas = 1;
  std::int32_t min = 0;  // of this role, before any task of the gang (or of its group) may start
  PodTemplate pod;
  std::string group{};  // name of a group of the gang; empty: no group

  bool operator==(const RoleSpec&) const = default;
};

// How close together the tasks of a job, or of one of its groups, must run.
struct Locality {
  enum class Mode : std::uint8_t {
    kUnsaid,     // not set: the configuration decides
    kPreferred,  // as close as room allows
    kRequired,   // in one domain of at most the tier, and as close as room allows
  };
  Mode mode = Mode::kUnsaid;
  // kRequired: the highest tier. If the name is set, the tier that domains give that name.
  std::int32_t highest_tier = 0;
  std::string highest_tier_name;

  bool operator==(const Locality&) const = default;
};

// A gang inside a gang, or inside another group. Its tasks are those of its roles and of the groups
// inside it. It starts with at least `min_member` of them, including the minimum of each of its roles
// and of each group inside it that is not elastic, or with none of its tasks.
struct GroupSpec {
  std::string name;
  std::int32_t min_member = 1;
  bool elastic = false;  // what it is in may start without this group
  Locality locality{};
  std::string parent{};  // the group that it is in; empty: it is in no other group

  bool operator==(const GroupSpec&) const = default;
};

// A gang starts with at least `min_member` of its tasks, including the minimum of each role and
// each group that is not elastic, or not at all. All other tasks are elastic; a group stays whole.
struct GangSpec {
  std::int32_t min_member = 1;
  std::vector<RoleSpec> roles;
  std::vector<GroupSpec> groups;

  bool operator==(const GangSpec&) const = default;
};

// Room that an earlier engine process reserved for a task.
struct RecordedReservation {
  std::string role;
  std::int32_t index = 0;
  std::string node;
  Slices slices;

  bool operator==(const RecordedReservation&) const = default;
};

struct JobSpec {
  std::string uid;
  std::string name;
  std::string queue;
  std::int32_t priority = 0;
  TimeMs created = 0;
  GangSpec gang;
  // False: the pods do not exist yet, and each task may be placed. Volcano creates the pods when
  // the group is admitted. True: a task is pending only while its pod is known.
  bool pods_exist = false;
  // Whether its tasks may be evicted, and the minimum run time of each task before that.
  bool preemptible = true;
  DurationMs min_run_ms = 0;
  DurationMs checkpoint_interval_ms = 0;  // how often each task saves its work; 0: never, or not known
  // Whether its tasks may migrate for a gang when free room is fragmented: they are evicted and
  // start elsewhere at once.
  bool movable = false;
  // If one of its tasks migrates, the other tasks of the gang wait for it. False: they restart, too.
  bool restarts_by_task = false;
  bool evicts = true;          // false: no task is evicted for this job
  std::int32_t evictions = 0;  // how often it was evicted, as far as recorded
  std::vector<RecordedReservation> held;  // read when the job is first seen
  std::string user;            // for fairness among the users of a queue; empty: no user
  Locality locality;
  DurationMs estimated_runtime_ms = 0;  // run-time estimate of each task; 0: none
  std::string image;  // of the first container: jobs with equal images run alike; empty: not known

  bool operator==(const JobSpec&) const = default;
};

// The largest run-time estimate: 34 years.
constexpr DurationMs kMostRunMs = DurationMs{1} << 40;

// How many groups may be inside each other.
constexpr int kMaxGroupLevels = 8;

// The most tasks of a job, over all roles.
constexpr std::int32_t kMaxTasks = 1'000'000;

// INVALID_ARGUMENT with the field and the numbers: an amount or a tier below zero or too large to
// sum, a minimum above the number of tasks, a fraction above a whole device, a limit given twice, or of
// the node and with another topology key or too many places,
// too many tasks or containers, a role or group of an unknown group, groups inside each other in a
// circle or deeper than kMaxGroupLevels. ALREADY_EXISTS for two roles or groups
// with the same name.
absl::Status ValidateJob(const JobSpec& job);
absl::Status ValidatePod(const std::string& where, const PodTemplate& pod);

}  // namespace tephra
