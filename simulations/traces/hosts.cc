#include "simulations/traces/hosts.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "simulations/traces/csv.h"

namespace tephra {
namespace {

constexpr std::size_t kMostHosts = 1'000'000;

}  // namespace

absl::StatusOr<Hosts> ReadHosts(const std::string& path, const std::string& name,
                                const std::vector<std::string>& tiers) {
  std::vector<std::string> columns = {name};
  columns.insert(columns.end(), tiers.begin(), tiers.end());
  TEPHRA_ASSIGN_OR_RETURN(CsvReader csv, CsvReader::Open(path, columns));
  Hosts hosts;
  std::unordered_set<std::string> known;
  std::map<std::string, DomainSpec> domains;
  for (;;) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, csv.Next());
    if (!more) break;
    const std::string& host = csv.Text(0);
    if (host.empty()) return csv.Wrong(0, "a name");
    if (!known.insert(host).second) return csv.Wrong(0, "a unique name");
    if (known.size() > kMostHosts) {
      return csv.Wrong(0, "at most " + std::to_string(kMostHosts) + " hosts");
    }
    hosts.names.push_back(host);
    // Widest tier first.
    DomainSpec* above = nullptr;
    for (std::size_t t = tiers.size(); t > 0; --t) {
      const std::string& value = csv.Text(t);
      if (value.find('/') != std::string::npos) return csv.Wrong(t, "a name without a slash");
      if (value.empty()) continue;
      const std::string full = above == nullptr ? value : above->name + "/" + value;
      const auto [it, fresh] = domains.try_emplace(full);
      if (fresh) {
        it->second = {full, static_cast<std::int32_t>(t), tiers[t - 1], {}, {}};
        if (above != nullptr) above->domains.push_back(full);
      } else if (it->second.tier_name != tiers[t - 1]) {
        return csv.Wrong(t, "a domain name that column " + it->second.tier_name + " does not use");
      }
      above = &it->second;
    }
    if (above != nullptr) above->nodes.push_back(host);
  }
  for (auto& [full, domain] : domains) hosts.domains.push_back(std::move(domain));
  return hosts;
}

}  // namespace tephra
