#include "queue/job.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <string_view>

#include "topology/mig.h"

namespace tephra {
namespace {

absl::Status Invalid(const std::string& where, const std::string& field, std::int64_t value,
                     const std::string& expected) {
  return absl::InvalidArgumentError(where + ": " + field + ": " + std::to_string(value) +
                                    ", expected " + expected);
}

absl::Status ValidateTier(const std::string& where, const Locality& locality) {
  if (locality.highest_tier >= 0) return absl::OkStatus();
  return Invalid(where, "locality.highest_tier", locality.highest_tier, "at least 0");
}

absl::Status ValidateAmounts(const std::string& where, const Resources& amounts) {
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    const bool derived = kind == kPods || kind == kGpu || kind == kGpuMemory;
    if (amounts[kind] < 0 || amounts[kind] > (derived ? 0 : kMaxAmount)) {
      return Invalid(where, "requests[kind " + std::to_string(kind) + "]", amounts[kind],
                     derived ? "0, it is derived" : "0 to " + std::to_string(kMaxAmount));
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateMig(const std::string& where, const DeviceRequest& devices) {
  if (devices.sharing != Sharing::kMig) {
    if (devices.mig_profile.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(where + ": devices.mig_profile: \"" + devices.mig_profile +
                                      "\", expected none but with MIG");
  }
  if (!LeastMigShare(devices.mig_profile)) {
    return absl::InvalidArgumentError(where + ": devices.mig_profile: \"" + devices.mig_profile +
                                      "\", expected one that a model has, such as \"1g.10gb\"");
  }
  if (devices.compute != 0) {
    return Invalid(where, "devices.compute", devices.compute, "0, it follows from mig_profile");
  }
  if (devices.memory_mib == 0) return absl::OkStatus();
  return Invalid(where, "devices.memory_mib", devices.memory_mib, "0, it follows from mig_profile");
}

absl::Status ValidateDevices(const std::string& where, const DeviceRequest& devices) {
  if (devices.count < 0) return Invalid(where, "devices.count", devices.count, "at least 0");
  if (devices.count == 0) return absl::OkStatus();
  if (devices.count > 0xffff)
    return Invalid(where, "devices.count", devices.count, "at most 65535");
  if (devices.compute < 0 || devices.compute > kWholeGpu) {
    return Invalid(where, "devices.compute", devices.compute, "0 to 1000 per mille");
  }
  if (devices.memory_mib < 0 || devices.memory_mib > kMaxDeviceMib) {
    return Invalid(where, "devices.memory_mib", devices.memory_mib,
                   "0 to " + std::to_string(kMaxDeviceMib));
  }
  TEPHRA_RETURN_IF_ERROR(ValidateMig(where, devices));
  if (devices.sharing == Sharing::kMig) return absl::OkStatus();
  if (devices.compute == 0 && devices.memory_mib == 0) {
    return Invalid(where, "devices.compute", 0, "above 0 where no memory is asked for either");
  }
  return absl::OkStatus();
}

Resources AmountsOf(const ContainerSpec& container) {
  Resources amounts = container.requests;
  const DeviceRequest devices = WithAmounts(container.devices);
  amounts[kGpu] = std::int64_t{devices.count} * devices.compute;
  amounts[kGpuMemory] = std::int64_t{devices.count} * devices.memory_mib;
  return amounts;
}

absl::Status ValidateSum(const std::string& where, const Resources& sum) {
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    if (sum[kind] <= kMaxAmount) continue;
    return Invalid(where, "sum of containers[kind " + std::to_string(kind) + "]", sum[kind],
                   "at most " + std::to_string(kMaxAmount));
  }
  return absl::OkStatus();
}

// The groups of a gang by what is inside of what, with the tasks of each.
class GroupTree {
 public:
  absl::Status Read(const std::string& where, const std::vector<GroupSpec>& groups) {
    for (const GroupSpec& group : groups) {
      const std::string here = where + " group \"" + group.name + "\"";
      if (!by_name_.emplace(group.name, nodes_.size()).second) {
        return absl::AlreadyExistsError(here + ": the name is given twice");
      }
      if (group.name.empty()) return absl::InvalidArgumentError(here + ": name: empty");
      TEPHRA_RETURN_IF_ERROR(ValidateTier(here, group.locality));
      nodes_.push_back({&group, kTop, 0, 0});
    }
    for (Node& node : nodes_) {
      if (node.spec->parent.empty()) continue;
      const auto parent = by_name_.find(node.spec->parent);
      if (parent == by_name_.end()) return BadParent(where, node, "another group of the gang");
      node.parent = parent->second;
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      int levels = 1;
      for (std::size_t up = nodes_[n].parent; up != kTop; up = nodes_[up].parent) {
        if (up == n) return BadParent(where, nodes_[n], "a group that is not inside it");
        if (++levels <= kMaxGroupLevels) continue;
        return BadParent(where, nodes_[n],
                         "at most " + std::to_string(kMaxGroupLevels) + " groups inside each other");
      }
    }
    return absl::OkStatus();
  }

  // False: there is no such group.
  bool AddTasks(const std::string& group, std::int64_t tasks) {
    if (group.empty()) return needed_ += tasks, true;
    const auto at = by_name_.find(group);
    if (at == by_name_.end()) return false;
    bool needed = true;
    for (std::size_t up = at->second; up != kTop; up = nodes_[up].parent) {
      nodes_[up].tasks += tasks;
      if (needed) nodes_[up].needed += tasks;
      needed = needed && !nodes_[up].spec->elastic;
    }
    if (needed) needed_ += tasks;
    return true;
  }

  absl::Status CheckMinimums(const std::string& where, const GangSpec& gang) const {
    for (const Node& node : nodes_) {
      const std::int32_t least = node.spec->min_member;
      if (least >= 1 && least <= node.needed) continue;
      const char* which = node.needed == node.tasks
                              ? "1 to the replicas of its roles, "
                              : "1 to the replicas of its roles of no elastic group inside it, ";
      return Invalid(where + " group \"" + node.spec->name + "\"", "min_member", least,
                     which + std::to_string(node.needed));
    }
    if (gang.min_member <= needed_) return absl::OkStatus();
    return Invalid(where, "min_member", gang.min_member,
                   "0 to the replicas of roles of no elastic group, " + std::to_string(needed_));
  }

 private:
  static constexpr std::size_t kTop = static_cast<std::size_t>(-1);
  struct Node {
    const GroupSpec* spec;
    std::size_t parent;
    std::int64_t tasks;   // of it and of the groups inside it
    std::int64_t needed;  // of these, the tasks of no elastic group inside it
  };

  static absl::Status BadParent(const std::string& where, const Node& node,
                                const std::string& expected) {
    return absl::InvalidArgumentError(where + " group \"" + node.spec->name + "\": parent: \"" +
                                      node.spec->parent + "\", expected " + expected);
  }

  std::vector<Node> nodes_;
  std::map<std::string, std::size_t> by_name_;
  std::int64_t needed_ = 0;  // tasks of no elastic group
};

}  // namespace

DeviceRequest WithAmounts(const DeviceRequest& request) {
  DeviceRequest with = request;
  if (request.sharing != Sharing::kMig) return with;
  const MigShare share = LeastMigShare(request.mig_profile).value_or(MigShare{});
  with.compute = share.compute;
  with.memory_mib = share.memory_mib;
  return with;
}

namespace {

constexpr std::int32_t kMostPlaces = 1024;  // of one task
constexpr std::size_t kMostShared = 1024;   // names of one limit; each is looked at on each node

absl::Status ValidatePlaces(const std::string& where, const DomainLimit& limit) {
  const std::string what = "limit \"" + limit.group + "\" ";
  if (limit.own < 0 || limit.own > kMostPlaces) {
    return Invalid(where, what + "own", limit.own, "0 to " + std::to_string(kMostPlaces));
  }
  if (limit.shared.size() > kMostShared) {
    return Invalid(where, what + "shared", static_cast<std::int64_t>(limit.shared.size()),
                   "at most " + std::to_string(kMostShared) + " names");
  }
  if (limit.of_node() && limit.topology_key != kHostnameKey) {
    return absl::InvalidArgumentError(where + ": " + what + "topology_key: \"" + limit.topology_key +
                                      "\", expected " + kHostnameKey + " beside own and shared");
  }
  std::set<std::string_view> names;
  for (const std::string& name : limit.shared) {
    if (!name.empty() && names.insert(name).second) continue;
    return absl::InvalidArgumentError(where + ": " + what + "shared: \"" + name +
                                      "\", expected different names");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidatePod(const std::string& where, const PodTemplate& pod) {
  if (pod.containers.size() > kMaxContainers) {
    return Invalid(where, "containers", static_cast<std::int64_t>(pod.containers.size()),
                   "at most " + std::to_string(kMaxContainers));
  }
  TEPHRA_RETURN_IF_ERROR(ValidateAmounts(where + " overhead", pod.overhead));
  Resources sum = pod.overhead;
  for (const ContainerSpec& container : pod.containers) {
    const std::string here = where + " container \"" + container.name + "\"";
    TEPHRA_RETURN_IF_ERROR(ValidateAmounts(here, container.requests));
    TEPHRA_RETURN_IF_ERROR(ValidateDevices(here, container.devices));
    TEPHRA_RETURN_IF_ERROR(ValidateSum(where, sum.Add(AmountsOf(container))));
  }
  for (const DomainLimit& limit : pod.limits) {
    TEPHRA_RETURN_IF_ERROR(ValidatePlaces(where, limit));
    const std::int32_t least = limit.counted ? 1 : 0;
    if (!limit.of_node() && limit.max < least) {
      return Invalid(where, "limit \"" + limit.group + "\" max", limit.max,
                     limit.counted ? "at least 1" : "at least 0");
    }
    if (limit.topology_key.empty() || limit.group.empty()) {
      return absl::InvalidArgumentError(where + ": a limit needs a group and a topology key");
    }
    const auto same = [&](const DomainLimit& other) {
      return other.group == limit.group && other.topology_key == limit.topology_key;
    };
    if (std::count_if(pod.limits.begin(), pod.limits.end(), same) > 1) {
      return absl::InvalidArgumentError(where + ": limit \"" + limit.group + "\" per " +
                                        limit.topology_key + ": given twice, expected once");
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateJob(const JobSpec& job) {
  const std::string where = "job \"" + job.name + "\"";
  if (job.uid.empty()) return absl::InvalidArgumentError(where + ": uid: empty");
  if (job.min_run_ms < 0) return Invalid(where, "min_run_ms", job.min_run_ms, "at least 0");
  if (job.checkpoint_interval_ms < 0 || job.checkpoint_interval_ms > kMostRunMs) {
    return Invalid(where, "checkpoint_interval_ms", job.checkpoint_interval_ms,
                   "0 to " + std::to_string(kMostRunMs));
  }
  if (job.estimated_runtime_ms < 0 || job.estimated_runtime_ms > kMostRunMs) {
    return Invalid(where, "estimated_runtime_ms", job.estimated_runtime_ms,
                   "0 to " + std::to_string(kMostRunMs));
  }
  TEPHRA_RETURN_IF_ERROR(ValidateTier(where, job.locality));
  if (job.evictions < 0) return Invalid(where, "evictions", job.evictions, "at least 0");
  GroupTree groups;
  TEPHRA_RETURN_IF_ERROR(groups.Read(where, job.gang.groups));
  std::int64_t replicas = 0;
  std::array<__int128, kMaxKinds> asked{};
  std::set<std::string> names;
  for (const RoleSpec& role : job.gang.roles) {
    const std::string here = where + " role \"" + role.name + "\"";
    if (!names.insert(role.name).second) {
      return absl::AlreadyExistsError(here + ": the name is given twice");
    }
    if (role.replicas < 0) return Invalid(here, "replicas", role.replicas, "at least 0");
    if (role.min < 0 || role.min > role.replicas) {
      return Invalid(here, "min", role.min, "0 to its replicas, " + std::to_string(role.replicas));
    }
    replicas += role.replicas;
    if (!groups.AddTasks(role.group, role.replicas)) {
      return absl::InvalidArgumentError(here + ": group: \"" + role.group +
                                        "\", expected one of the gang's");
    }
    TEPHRA_RETURN_IF_ERROR(ValidatePod(here, role.pod));
    Resources each = role.pod.overhead;
    for (const ContainerSpec& container : role.pod.containers) each.Add(AmountsOf(container));
    for (KindSet kinds = each.NonZero(); kinds != 0; kinds &= kinds - 1) {
      const Kind kind = static_cast<Kind>(std::countr_zero(kinds));
      asked[kind] += static_cast<__int128>(each[kind]) * role.replicas;
      if (asked[kind] <= kMaxSum) continue;
      return Invalid(here, "requests[kind " + std::to_string(kind) + "]", each[kind],
                     "at most " + std::to_string(kMaxSum) + " over all tasks of the job");
    }
  }
  if (replicas > kMaxTasks) {
    return Invalid(where, "replicas of all roles", replicas,
                   "at most " + std::to_string(kMaxTasks));
  }
  if (job.gang.min_member < 0 || job.gang.min_member > replicas) {
    return Invalid(where, "min_member", job.gang.min_member,
                   "0 to the replicas of its roles, " + std::to_string(replicas));
  }
  return groups.CheckMinimums(where, job.gang);
}

}  // namespace tephra
