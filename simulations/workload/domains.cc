// The sections `cluster.domains` and `cluster.bandwidth`: the network topology, and
// the bandwidth of its links.
#include <map>
#include <utility>

#include "simulations/traces/hosts.h"
#include "simulations/workload/sections.h"
#include "topology/fabric.h"

namespace tephra {
namespace {

DomainSpec ReadDomain(const Item& item) {
  DomainSpec domain;
  Fields fields(item);
  fields.Need("name");
  fields.Text("name", domain.name);
  fields.Whole("tier", domain.tier, 0);
  fields.Text("tier_name", domain.tier_name);
  fields.Texts("nodes", domain.nodes);
  fields.Texts("domains", domain.domains);
  fields.Done();
  if (item.wrong->ok()) item.wrong->Wrong(item.node->line, ValidateDomain(domain));
  return domain;
}

}  // namespace

std::vector<std::string> ReadHostList(Sections& sections, const Item& item,
                                      std::vector<DomainSpec>& domains) {
  std::string hosts, name = "name";
  std::vector<std::string> tiers;
  Fields fields(item);
  fields.Need("hosts");
  fields.Text("hosts", hosts);
  fields.Text("name", name);
  fields.Need("tiers");
  fields.Texts("tiers", tiers);
  fields.Done();
  if (!item.wrong->ok()) return {};
  absl::StatusOr<Hosts> read = ReadHosts(sections.Input(hosts), name, tiers);
  item.wrong->Keep(read.status());
  if (!read.ok()) return {};
  domains = std::move(read->domains);
  return std::move(read->names);
}

void ReadDomains(Sections& sections, Fields& fields, std::vector<DomainSpec>& domains) {
  const Item list = fields.At("domains");
  if (list.node == nullptr) return;
  if (!domains.empty()) return list.Wrong("either domains or nodes.tiers, not both");
  std::set<std::string> names;
  ReadList(list, [&](const Item& item) {
    domains.push_back(ReadDomain(item));
    Sections::Once(names, domains.back().name, item.node->line, item.path + ".name", *item.wrong);
    for (const std::string& node : domains.back().nodes) {
      if (!sections.nodes.contains(node)) {
        item.wrong->Wrong(item.node->line, item.path + ".nodes", node, "a node of this file");
      }
    }
  });
  // The file describes the whole cluster, so an unused domain is an error.
  std::map<std::string, DomainSpec> specs;
  for (const DomainSpec& domain : domains) {
    specs.emplace(domain.name, domain);
    for (const std::string& part : domain.domains) {
      if (!names.contains(part)) list.Wrong("only domains of this list, not " + part);
    }
  }
  std::vector<const std::string*> nodes;
  for (const std::string& node : sections.nodes) nodes.push_back(&node);
  const Fabric fabric(specs, nodes);
  if (list.wrong->ok() && !fabric.problems().empty()) {
    list.wrong->Wrong(list.node->line, absl::InvalidArgumentError(fabric.problems().front()));
  }
}

void ReadBandwidth(Fields& fields, std::optional<Bandwidths>& bandwidths) {
  const Item item = fields.At("bandwidth");
  if (item.node == nullptr) return;
  Bandwidths& read = bandwidths.emplace();
  Fields own(item);
  own.Need("node");
  own.Whole("node", read.node, 1, Bandwidths::kMost);
  own.Need("uplinks");
  own.List("uplinks", [&](const Item& one) {
    ReadWhole(one, read.uplinks.emplace_back(), 1, Bandwidths::kMost);
  });
  if (own.Has("uplinks") && read.uplinks.empty()) own.At("uplinks").Wrong("at least one number");
  own.Done();
}

}  // namespace tephra
