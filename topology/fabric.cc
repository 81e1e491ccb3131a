#include "topology/fabric.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tephra {
namespace {

std::string Quoted(const std::string& name) { return "\"" + name + "\""; }

std::string Titled(const DomainSpec& domain) {
  return Quoted(domain.name) + " (tier " + std::to_string(domain.tier) + ")";
}

// The forest before the layout: domains by tier and name, so parts come first.
class Forest {
 public:
  explicit Forest(const std::map<std::string, DomainSpec>& specs) {
    for (const auto& [name, spec] : specs) specs_.push_back(&spec);
    std::stable_sort(specs_.begin(), specs_.end(),
                     [](const DomainSpec* a, const DomainSpec* b) { return a->tier < b->tier; });
    for (std::uint32_t d = 0; d < size(); ++d) index_.emplace(specs_[d]->name, d);
    parent_.assign(size(), Fabric::kNone);
    children_.resize(size());
    for (std::uint32_t d = 0; d < size(); ++d) AdoptParts(d);
    for (std::uint32_t d = 0; d < size(); ++d) HouseNodes(d);
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(specs_.size()); }
  const DomainSpec& spec(std::uint32_t d) const { return *specs_[d]; }
  std::uint32_t parent(std::uint32_t d) const { return parent_[d]; }
  const std::vector<std::uint32_t>& children(std::uint32_t d) const { return children_[d]; }
  std::uint32_t HomeOf(const std::string& node) const {
    const auto it = homes_.find(node);
    return it == homes_.end() ? Fabric::kNone : it->second;
  }
  std::vector<std::string>& problems() { return problems_; }

 private:
  void AdoptParts(std::uint32_t d) {
    for (const std::string& name : specs_[d]->domains) {
      const auto part = index_.find(name);
      if (part == index_.end()) continue;  // not known yet
      const std::uint32_t p = part->second;
      if (specs_[p]->tier >= specs_[d]->tier) {
        problems_.push_back("domain " + Titled(*specs_[d]) + " names " + Titled(*specs_[p]) +
                            " as a part of it: expected a part of a lower tier; left out");
      } else if (parent_[p] != Fabric::kNone) {
        problems_.push_back("domain " + Quoted(name) + " is a part of " +
                            Quoted(specs_[parent_[p]]->name) + " and of " +
                            Quoted(specs_[d]->name) + ": counted in the first");
      } else {
        parent_[p] = d;
        children_[d].push_back(p);
      }
    }
    std::sort(children_[d].begin(), children_[d].end(),
              [&](std::uint32_t a, std::uint32_t b) { return specs_[a]->name < specs_[b]->name; });
  }

  // A domain may also name the nodes of its parts.
  void HouseNodes(std::uint32_t d) {
    for (const std::string& node : specs_[d]->nodes) {
      const auto [home, fresh] = homes_.try_emplace(node, d);
      if (fresh || IsPartOf(home->second, d)) continue;
      problems_.push_back("node " + Quoted(node) + " is in domains " +
                          Quoted(specs_[home->second]->name) + " and " + Quoted(specs_[d]->name) +
                          ", of which neither is part of the other: counted in the first");
    }
  }

  bool IsPartOf(std::uint32_t part, std::uint32_t whole) const {
    while (part != Fabric::kNone && part != whole) part = parent_[part];
    return part == whole;
  }

  std::vector<const DomainSpec*> specs_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::vector<std::uint32_t> parent_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::unordered_map<std::string_view, std::uint32_t> homes_;  // by node
  std::vector<std::string> problems_;
};

}  // namespace

RankSpan RankSpan::Around(const RankSpan& a, const RankSpan& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.first, b.first), std::max(a.last, b.last)};
}

Fabric::Fabric(const std::map<std::string, DomainSpec>& specs,
               std::vector<const std::string*>& nodes) {
  Forest forest(specs);
  problems_ = std::move(forest.problems());

  // The place of each domain in a walk of the trees: parts by name, then direct nodes.
  std::vector<std::uint32_t> walk;  // parts before the domains that they are part of
  std::vector<std::uint32_t> roots;
  for (std::uint32_t d = 0; d < forest.size(); ++d) {
    if (forest.parent(d) == kNone) roots.push_back(d);
  }
  std::sort(roots.begin(), roots.end(), [&](std::uint32_t a, std::uint32_t b) {
    return forest.spec(a).name < forest.spec(b).name;
  });
  std::vector<std::pair<std::uint32_t, std::size_t>> path;  // a domain, and its next part
  for (const std::uint32_t root : roots) {
    path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [d, next] = path.back();
      if (next < forest.children(d).size()) {
        path.emplace_back(forest.children(d)[next++], 0);
      } else {
        walk.push_back(d);
        path.pop_back();
      }
    }
  }
  std::vector<std::uint32_t> place(forest.size());  // in the walk
  for (std::uint32_t w = 0; w < walk.size(); ++w) place[walk[w]] = w;

  std::vector<std::pair<std::uint32_t, const std::string*>> row;  // place of the home, node
  row.reserve(nodes.size());
  for (const std::string* node : nodes) {
    const std::uint32_t home = forest.HomeOf(*node);
    row.emplace_back(home == kNone ? kNone : place[home], node);
  }
  std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, *a.second) < std::tie(b.first, *b.second);
  });

  std::vector<RankSpan> spans(forest.size(), RankSpan{0, 0});
  for (std::uint32_t rank = 0; rank < row.size(); ++rank) {
    nodes[rank] = row[rank].second;
    if (row[rank].first == kNone) continue;
    RankSpan& span = spans[walk[row[rank].first]];
    span = RankSpan::Around(span, {rank, rank + 1});
  }
  for (const std::uint32_t d : walk) {
    if (forest.parent(d) == kNone) continue;
    RankSpan& whole = spans[forest.parent(d)];
    whole = RankSpan::Around(whole, spans[d]);
  }

  std::vector<std::uint32_t> order(forest.size());
  for (std::uint32_t d = 0; d < order.size(); ++d) order[d] = d;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(forest.spec(a).tier, spans[a].first, place[a]) <
           std::tuple(forest.spec(b).tier, spans[b].first, place[b]);
  });
  std::vector<std::uint32_t> index(forest.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) index[order[i]] = i;
  for (const std::uint32_t d : order) {
    const DomainSpec& spec = forest.spec(d);
    Domain& domain =
        domains_.emplace_back(Domain{spec.name, spec.tier, spec.tier_name, kNone, spans[d], {}});
    if (forest.parent(d) != kNone) domain.parent = index[forest.parent(d)];
    for (const std::uint32_t part : forest.children(d)) domain.children.push_back(index[part]);
  }
  home_.reserve(row.size());
  for (const auto& [home, node] : row) {
    home_.push_back(home == kNone ? kNone : index[walk[home]]);
  }
}

std::vector<std::uint32_t> Fabric::Around(const RankSpan& span) const {
  std::vector<std::uint32_t> around;
  if (span.empty() || span.first >= home_.size()) return around;
  for (std::uint32_t d = home_[span.first]; d != kNone; d = domains_[d].parent) {
    if (domains_[d].span.contains(span)) around.push_back(d);
  }
  return around;
}

std::vector<std::uint32_t> Fabric::Widest(std::int32_t highest_tier) const {
  std::vector<std::uint32_t> widest;
  for (std::uint32_t d = 0; d < domains_.size(); ++d) {
    const std::uint32_t up = domains_[d].parent;
    if (domains_[d].tier > highest_tier || domains_[d].span.empty()) continue;
    if (up == kNone || domains_[up].tier > highest_tier) widest.push_back(d);
  }
  return widest;
}

std::int32_t Fabric::TierNamed(const std::string& tier_name) const {
  std::int32_t tier = kNoTier;
  for (const Domain& domain : domains_) {
    if (domain.tier_name == tier_name) tier = std::max(tier, domain.tier);
  }
  return tier;
}

}  // namespace tephra
