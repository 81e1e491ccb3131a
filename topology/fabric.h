// Fabric: which nodes are near each other, as a forest of domains laid out in one row, so that the
// nodes of every domain stand side by side in it.
//
// Derived from the domains (Volcano HyperNodes) and the names of the nodes that are there; another
// order of facts gives the same one. Immutable; any thread may read.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "topology/domain.h"

namespace tephra {

// Places in the row of nodes, from `first` on and before `last`.
struct RankSpan {
  std::uint32_t first = 0;
  std::uint32_t last = std::numeric_limits<std::uint32_t>::max();  // the greatest: no end

  bool everywhere() const { return *this == RankSpan{}; }
  bool empty() const { return first >= last; }
  bool contains(std::uint32_t rank) const { return first <= rank && rank < last; }
  bool contains(const RankSpan& other) const { return first <= other.first && other.last <= last; }
  // The least that holds both. An empty one holds nothing.
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
    std::vector<std::uint32_t> children;  // by where they begin
  };
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::int32_t kNoTier = -1;

  Fabric() = default;
  // `nodes`: of those that are there, by name. Their order becomes that of the row.
  //
  // A domain is part of at most one other, of a higher tier, and a node of at most one that is not
  // part of another of its domains: the first by tier and name. What says otherwise is left out and
  // told in problems().
  Fabric(const std::map<std::string, DomainSpec>& specs, std::vector<const std::string*>& nodes);

  bool empty() const { return domains_.empty(); }
  // Rising by tier, then by place in the row: parts come before what they are part of.
  const std::vector<Domain>& domains() const { return domains_; }
  // The domains of the lowest tier that hold the whole span, and so on up; none for an empty span.
  std::vector<std::uint32_t> Around(const RankSpan& span) const;
  // Domains of at most that tier that are part of no other such.
  std::vector<std::uint32_t> Widest(std::int32_t highest_tier) const;
  // kNoTier where no domain's tier has that name. Of several the highest.
  std::int32_t TierNamed(const std::string& tier_name) const;
  // The nearest domain that the node of that rank is part of; kNone: of none.
  std::uint32_t HomeOf(std::uint32_t rank) const { return home_[rank]; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<Domain> domains_;
  std::vector<std::uint32_t> home_;  // by rank
  std::vector<std::string> problems_;
};

}  // namespace tephra
