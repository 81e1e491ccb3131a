#include "plugins/locality/packing_plan.h"

#include <algorithm>
#include <tuple>

namespace tephra {
namespace {

// A domain, or a node that is in no smaller domain.
struct Part {
  std::int64_t room = 0;
  MaxTree::Value rating = 0;  // of a node
  RankSpan span;
  std::uint32_t domain = Fabric::kNone;
};

class Packer {
 public:
  Packer(const Hardware& hardware, const Ranking& ranking)
      : hardware_(hardware), fabric_(hardware.fabric()), ranking_(ranking) {}

  void Pack(std::uint32_t domain, std::int64_t tasks) {
    std::vector<Part> parts = PartsOf(domain);
    // The most room first, then the better rating.
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return std::tuple(-a.room, -a.rating, a.span.first) <
             std::tuple(-b.room, -b.rating, b.span.first);
    });
    for (auto next = parts.begin(); next != parts.end() && tasks > 0; ++next) {
      const auto roomier = [](const Part& part, std::int64_t room) { return part.room > room; };
      if (next->room >= tasks) {
        // The smallest part that takes the rest, and of equal parts the first.
        const auto beyond = std::lower_bound(next, parts.end(), tasks - 1, roomier);
        next = std::lower_bound(next, beyond, (beyond - 1)->room, roomier);
      }
      const std::int64_t here = std::min(tasks, next->room);
      if (next->domain != Fabric::kNone) {
        Pack(next->domain, here);
      } else {
        shares_.push_back({next->span.first, static_cast<std::int32_t>(here)});
      }
      tasks -= here;
    }
  }

  std::vector<NodeShare> Shares() {
    std::sort(shares_.begin(), shares_.end(),
              [](const NodeShare& a, const NodeShare& b) { return a.rank < b.rank; });
    return std::move(shares_);
  }

 private:
  // The parts with room.
  std::vector<Part> PartsOf(std::uint32_t domain) const {
    std::vector<Part> parts;
    const bool all = domain == Fabric::kNone;
    // Nodes in no part come after all parts.
    std::uint32_t rest = all ? 0 : fabric_.domains()[domain].span.first;
    const auto add = [&](std::uint32_t d) {
      const Fabric::Domain& part = fabric_.domains()[d];
      if (part.span.empty()) return;
      rest = std::max(rest, part.span.last);
      const std::int64_t room = ranking_.room(part.span);
      if (room > 0) parts.push_back({room, 0, part.span, d});
    };
    if (all) {
      for (std::uint32_t d = 0; d < fabric_.domains().size(); ++d) {
        if (fabric_.domains()[d].parent == Fabric::kNone) add(d);
      }
    } else {
      for (const std::uint32_t d : fabric_.domains()[domain].children) add(d);
    }
    const auto last = all ? static_cast<std::uint32_t>(hardware_.ranked().size())
                          : fabric_.domains()[domain].span.last;
    for (std::uint32_t rank = rest; rank < last; ++rank) {
      const std::int32_t room = ranking_.copies(rank);
      if (room > 0) parts.push_back({room, ranking_.rating(rank), {rank, rank + 1}, Fabric::kNone});
    }
    return parts;
  }

  const Hardware& hardware_;
  const Fabric& fabric_;
  const Ranking& ranking_;
  std::vector<NodeShare> shares_;
};

}  // namespace

std::vector<NodeShare> PackingPlan(const Hardware& hardware, const Ranking& ranking,
                                   std::uint32_t domain, std::int64_t tasks) {
  Packer packer(hardware, ranking);
  packer.Pack(domain, tasks);
  return packer.Shares();
}

}  // namespace tephra
