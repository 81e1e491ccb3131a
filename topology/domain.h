// Domain: nodes that are near each other, a HyperNode in Volcano. Pure values, no thread rule.
//
// Source: Volcano API topology/v1alpha1. The scheduler resolves selectors by pattern or label, so
// members here are names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/base/status.h"

namespace tephra {

struct DomainSpec {
  std::string name;
  std::int32_t tier = 1;  // the lower the tier, the closer its nodes
  std::string tier_name;  // may be empty
  // Direct members, each named once. They need not exist.
  std::vector<std::string> nodes;
  std::vector<std::string> domains;

  bool operator==(const DomainSpec&) const = default;
};

// INVALID_ARGUMENT with the domain, the field and the value: an empty name, a tier below 0, a
// member that has no name, is a duplicate, or is the domain itself.
absl::Status ValidateDomain(const DomainSpec& domain);

}  // namespace tephra
