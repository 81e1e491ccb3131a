#include "engine/fact_checks.h"

#include <algorithm>
#include <bit>

#include "topology/mig.h"

namespace tephra {

absl::Status CheckDeclared(const ResourceKinds& kinds, const char* of, const std::string& name,
                           KindSet used) {
  const KindSet unknown = used >> kinds.size();
  if (unknown == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(of) + " \"" + name + "\": resource kind " +
                                    std::to_string(kinds.size() + std::countr_zero(unknown)) +
                                    ": not declared");
}

absl::Status CheckNamed(const ResourceKinds& kinds, const char* of, const std::string& name,
                        KindSet used) {
  const KindSet derived = used & kinds.model_kinds();
  if (derived == 0) return CheckDeclared(kinds, of, name, used);
  return absl::InvalidArgumentError(std::string(of) + " \"" + name + "\": resource kind " +
                                    kinds.Name(static_cast<Kind>(std::countr_zero(derived))) +
                                    ": expected none, it is derived from devices and their models");
}

KindSet KindsOf(const PodTemplate& pod) {
  KindSet kinds = pod.overhead.NonZero();
  for (const ContainerSpec& container : pod.containers) kinds |= container.requests.NonZero();
  return kinds;
}

absl::Status ValidateSlices(const std::string& where, const Slices& slices) {
  for (const Slice& slice : slices) {
    if (slice.compute < 0 || slice.compute > kWholeGpu || slice.memory_mib < 0 ||
        slice.memory_mib > kMaxDeviceMib) {
      return absl::InvalidArgumentError(
          where + ": slice: compute " + std::to_string(slice.compute) + ", memory_mib " +
          std::to_string(slice.memory_mib) + ", expected 0 to 1000 and 0 to " +
          std::to_string(kMaxDeviceMib));
    }
    const auto has = [&](const MigModel& model) {
      return slice.mig_profile < model.profiles.size() && slice.mig_start < model.memory_slices;
    };
    if (std::none_of(MigModels().begin(), MigModels().end(), has)) {
      return absl::InvalidArgumentError(
          where + ": slice: mig_profile " + std::to_string(slice.mig_profile) + ", mig_start " +
          std::to_string(slice.mig_start) + ", expected those of some model");
    }
  }
  return absl::OkStatus();
}

}  // namespace tephra
