#include "topology/domain.h"

#include <set>

namespace tephra {
namespace {

absl::Status ValidateMembers(const DomainSpec& domain, const char* field,
                             const std::vector<std::string>& names) {
  const auto wrong = [&](const std::string& what) {
    return absl::InvalidArgumentError("domain \"" + domain.name + "\": " + field + ": " + what);
  };
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty()) return wrong("an empty name");
    if (!seen.insert(name).second) return wrong("\"" + name + "\" is named twice");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateDomain(const DomainSpec& domain) {
  if (domain.name.empty()) return absl::InvalidArgumentError("domain: name: empty");
  const std::string where = "domain \"" + domain.name + "\": ";
  if (domain.tier < 0) {
    return absl::InvalidArgumentError(where + "tier: " + std::to_string(domain.tier) +
                                      ", expected 0 or more");
  }
  TEPHRA_RETURN_IF_ERROR(ValidateMembers(domain, "nodes", domain.nodes));
  TEPHRA_RETURN_IF_ERROR(ValidateMembers(domain, "domains", domain.domains));
  for (const std::string& member : domain.domains) {
    if (member == domain.name) {
      return absl::InvalidArgumentError(where + "domains: a member of itself");
    }
  }
  return absl::OkStatus();
}

}  // namespace tephra
