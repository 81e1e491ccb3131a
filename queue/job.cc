#include "queue/job.h"

#include <set>

namespace tephra {
namespace {

absl::Status Invalid(const std::string& where, const std::string& field, std::int64_t value,
                     const std::string& expected) {
  return absl::InvalidArgumentError(where + ": " + field + ": " + std::to_string(value) +
                                    ", expected " + expected);
}

absl::Status ValidateAmounts(const std::string& where, const Resources& amounts) {
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    const bool derived = kind == kPods || kind == kGpu || kind == kGpuMemory;
    if (amounts[kind] < 0 || (derived && amounts[kind] != 0)) {
      return Invalid(where, "requests[kind " + std::to_string(kind) + "]", amounts[kind],
                     derived ? "0, it is derived" : "at least 0");
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateDevices(const std::string& where, const DeviceRequest& devices) {
  if (devices.count < 0) return Invalid(where, "devices.count", devices.count, "at least 0");
  if (devices.count == 0) return absl::OkStatus();
  if (devices.count > 0xffff)
    return Invalid(where, "devices.count", devices.count, "at most 65535");
  if (devices.compute < 0 || devices.compute > kWholeGpu) {
    return Invalid(where, "devices.compute", devices.compute, "0 to 1000 per mille");
  }
  if (devices.memory_mib < 0) {
    return Invalid(where, "devices.memory_mib", devices.memory_mib, "at least 0");
  }
  if (devices.compute == 0 && devices.memory_mib == 0) {
    return Invalid(where, "devices.compute", 0, "above 0 where no memory is asked for either");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidatePod(const std::string& where, const PodTemplate& pod) {
  TEPHRA_RETURN_IF_ERROR(ValidateAmounts(where + " overhead", pod.overhead));
  for (const ContainerSpec& container : pod.containers) {
    const std::string here = where + " container \"" + container.name + "\"";
    TEPHRA_RETURN_IF_ERROR(ValidateAmounts(here, container.requests));
    TEPHRA_RETURN_IF_ERROR(ValidateDevices(here, container.devices));
  }
  for (const DomainLimit& limit : pod.limits) {
    if (limit.max < 1)
      return Invalid(where, "limit \"" + limit.group + "\" max", limit.max, "at least 1");
    if (limit.topology_key.empty() || limit.group.empty()) {
      return absl::InvalidArgumentError(where + ": a limit needs a group and a topology key");
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateJob(const JobSpec& job) {
  const std::string where = "job \"" + job.name + "\"";
  if (job.uid.empty()) return absl::InvalidArgumentError(where + ": uid: empty");
  if (!job.gang.groups.empty()) {
    return absl::UnimplementedError(where +
                                    ": sub-groups of a gang are not placed yet; give its "
                                    "roles directly");
  }
  std::int64_t replicas = 0;
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
    TEPHRA_RETURN_IF_ERROR(ValidatePod(here, role.pod));
  }
  if (job.gang.min_member < 0 || job.gang.min_member > replicas) {
    return Invalid(where, "min_member", job.gang.min_member,
                   "0 to the replicas of its roles, " + std::to_string(replicas));
  }
  return absl::OkStatus();
}

}  // namespace tephra
