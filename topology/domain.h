// Domain: nodes that are near each other, and the domains they are part of: what Volcano calls a
// HyperNode. Pure values, no thread rule.
//
// Source: Volcano API topology/v1alpha1. Which nodes a selector by pattern or label means is worked
// out by whoever reads the cluster: here members are names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/base/status.h"

namespace tephra {

struct DomainSpec {
  std::string name;
  std::int32_t tier = 1;  // the lower, the nearer its nodes are to each other
  std::string tier_name;  // may be empty
  // Direct members, each named once; they need not be known.
  std::vector<std::string> nodes;
  std::vector<std::string> domains;

  bool operator==(const DomainSpec&) const = default;
};

// INVALID_ARGUMENT with the domain, the field and the value: an empty name, a tier below 0, a
// member without a name, named twice, or the domain itself.
absl::Status ValidateDomain(const DomainSpec& domain);

}  // namespace tephra
