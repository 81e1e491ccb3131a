// The section `cluster.domain_labels`: the domains of nodes, from their labels. The
// rule and the names are those of tephra-scheduler --domain-labels (plugins/volcano/facts).
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "simulations/workload/sections.h"

namespace tephra {
namespace {

std::string AfterSlash(const std::string& key) { return key.substr(key.rfind('/') + 1); }

// Values that are not allowed, because names made of them would be ambiguous.
bool Ambiguous(const std::string& value) {
  return value == "-" || value.find('/') != std::string::npos;
}

class LabelDomains {
 public:
  explicit LabelDomains(const std::vector<std::string>& keys) : keys_(keys) {
    for (const std::string& key : keys) {
      const auto alike = std::count_if(keys.begin(), keys.end(), [&](const std::string& other) {
        return AfterSlash(other) == AfterSlash(key);
      });
      tier_names_.push_back(alike == 1 ? AfterSlash(key) : key);
    }
  }

  // Adds the node to the lowest domain of its labels, and creates missing domains.
  void Place(const NodeSpec& node) {
    std::string prefix;
    DomainSpec* home = nullptr;
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      const auto label = node.labels.find(keys_[k]);
      if (label == node.labels.end() || label->second.empty()) {
        prefix += "-/";
        continue;
      }
      const auto [at, fresh] = domains_.try_emplace(prefix + label->second);
      DomainSpec& domain = at->second;
      if (fresh) {
        domain.name = at->first;
        domain.tier = static_cast<std::int32_t>(keys_.size() - k);
        domain.tier_name = tier_names_[k];
        if (home != nullptr) home->domains.push_back(domain.name);
      }
      home = &domain;
      prefix += label->second + "/";
    }
    if (home != nullptr) home->nodes.push_back(node.name);
  }

  std::vector<DomainSpec> Take() {
    std::vector<DomainSpec> all;
    for (auto& [name, domain] : domains_) all.push_back(std::move(domain));
    return all;
  }

 private:
  const std::vector<std::string>& keys_;  // widest first
  std::vector<std::string> tier_names_;
  std::map<std::string, DomainSpec> domains_;  // by name
};

}  // namespace

void ReadDomainLabels(Fields& fields, const std::vector<NodeSpec>& nodes,
                      std::vector<DomainSpec>& domains) {
  const Item item = fields.At("domain_labels");
  std::vector<std::string> keys;
  if (item.node == nullptr || !ReadTexts(item, keys)) return;
  if (!domains.empty() || fields.Has("domains")) {
    return item.Wrong("either domain_labels or domains, not both");
  }
  if (std::set<std::string>(keys.begin(), keys.end()).size() != keys.size()) {
    return item.Wrong("each label only once");
  }
  LabelDomains labels(keys);
  for (const NodeSpec& node : nodes) {
    for (const std::string& key : keys) {
      const auto label = node.labels.find(key);
      if (label != node.labels.end() && Ambiguous(label->second)) {
        return item.Wrong("values without \"/\" and other than \"-\"; node " + node.name + " has " +
                          key + "=" + label->second);
      }
    }
    labels.Place(node);
  }
  domains = labels.Take();
}

}  // namespace tephra
