// Fabric: the network topology as a forest of domains. The nodes are laid out in one row, so that
// the nodes of each domain are adjacent.
//
// Derived from the domains (Volcano HyperNodes) and the names of the present nodes, whatever the
// order of facts is. Owned by Hardware. Immutable; any thread may read.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "topology/domain.h"

namespace tephra {

// Places in the row of nodes: from `first` to before `last`.
struct RankSpan {
  std::uint32_t first = 0;
  std::uint32_t last = std::numeric_limits<std::uint32_t>::max();  // the largest value: no end

  bool everywhere() const { return *this == RankSpan{}; }
  bool empty() const { return first >= last; }
  bool contains(std::uint32_t rank) const { return first <= rank && rank < last; }
  bool contains(const RankSpan& other) const { return first <= other.first && other.last <= last; }
  // The smallest span that contains both. An empty span contains nothing.
  static RankSpan Around(const RankSpan& a, const RankSpan& b);
  bool operator==(const RankSpan&) const = default;
};

class Fabric {
 public:
  struct Domain {
    std::string name;
    std::int32_t tier = 0;
    std::string tier_name;
    std::uint32_t parent = kNone;
    RankSpan span;                        // may be empty
    std::vector<std::uint32_t> children;  // by their first place
  };
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::int32_t kNoTier = -1;

  Fabric() = default;
  // `nodes`: the present nodes, by name. The constructor sorts them in the order of the row.
  //
  // A domain is part of at most one other domain, of a higher tier. Of the domains that list a node
  // directly, only the first by tier and name counts. Contradictions are ignored and listed in
  // problems().
  Fabric(const std::map<std::string, DomainSpec>& specs, std::vector<const std::string*>& nodes);

  bool empty() const { return domains_.empty(); }
  // By tier, then by place in the row: parts come before the domains that they are part of.
  const std::vector<Domain>& domains() const { return domains_; }
  // The domains that contain the whole span, from the lowest tier up; none for an empty span.
  std::vector<std::uint32_t> Around(const RankSpan& span) const;
  // The domains of at most that tier that are part of no other such domain.
  std::vector<std::uint32_t> Widest(std::int32_t highest_tier) const;
  // The tier with that name, the highest of several; kNoTier if there is none.
  std::int32_t TierNamed(const std::string& tier_name) const;
  // The lowest domain of the node with that rank; kNone: the node is in no domain.
  std::uint32_t HomeOf(std::uint32_t rank) const { return home_[rank]; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<Domain> domains_;
  std::vector<std::uint32_t> home_;  // by rank
  std::vector<std::string> problems_;
};

}  // namespace tephra
