#include "plugins/locality/candidates.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/gang_ask.h"

namespace tephra {
namespace {

// Whether each group of equal roles has room in a span, and all roles together.
class Rooms {
 public:
  Rooms(Workbench& bench, const GangAsk& ask) : ask_(ask) {
    for (const std::size_t r : HardestFirst(bench.ledger().snapshot(), ask)) {
      const RoleAsk& role = ask.roles[r];
      const Ranking* ranking = &bench.rankings().WithRoom(role.cls, ask.without);
      auto alike = std::find_if(alike_.begin(), alike_.end(),
                                [&](const Alike& one) { return one.ranking == ranking; });
      if (alike == alike_.end()) alike = alike_.insert(alike_.end(), {ranking, 0, 0});
      alike->least += role.least;
      alike->tasks += static_cast<std::int64_t>(role.tasks.size());
    }
  }
  bool Enough(RankSpan span) const {
    std::int64_t could = 0;
    for (const Alike& alike : alike_) {
      const std::int64_t room = alike.ranking->room(span);
      if (room < alike.least) return false;
      could += std::min(room, alike.tasks);
    }
    return could >= ask_.least;
  }
  std::int64_t Hardest(RankSpan span) const { return alike_[0].ranking->room(span); }

 private:
  struct Alike {
    const Ranking* ranking;
    std::int64_t least, tasks;  // sums over the roles of that ranking
  };
  const GangAsk& ask_;
  std::vector<Alike> alike_;  // hardest first
};

}  // namespace

const Fabric& FabricOf(const Workbench& bench) {
  return bench.ledger().snapshot().hardware().fabric();
}

std::vector<DomainCandidate> CandidatesOf(Workbench& bench, const GangAsk& ask) {
  const Fabric& fabric = FabricOf(bench);
  const Rooms rooms(bench, ask);
  std::vector<DomainCandidate> candidates;
  const auto consider = [&](std::uint32_t d) {
    const Fabric::Domain& domain = fabric.domains()[d];
    if (domain.tier > ask.highest_tier || domain.span.empty()) return;
    if (!ask.within.contains(domain.span) || !rooms.Enough(domain.span)) return;
    candidates.push_back({d, rooms.Hardest(domain.span)});
  };
  if (ask.around.empty()) {
    for (std::uint32_t d = 0; d < fabric.domains().size(); ++d) consider(d);
  } else {
    for (const std::uint32_t d : fabric.Around(ask.around)) consider(d);
  }
  std::sort(candidates.begin(), candidates.end(),
            [&](const DomainCandidate& a, const DomainCandidate& b) {
              const auto key = [&](const DomainCandidate& one) {
                const Fabric::Domain& domain = fabric.domains()[one.domain];
                return std::tuple(domain.tier, one.room, domain.span.first, one.domain);
              };
              return key(a) < key(b);
            });
  return candidates;
}

Placer::Answer Apart(Workbench& bench, const GangAsk& ask, Placer::Answer answer) {
  const std::vector<std::size_t> order = HardestFirst(bench.ledger().snapshot(), ask);
  answer.apart = true;
  answer.role_short = static_cast<std::int32_t>(order[0]);
  for (const std::size_t r : order) {
    const Ranking& ranking = bench.rankings().WithRoom(ask.roles[r].cls, ask.without);
    std::int64_t most = 0;
    for (const std::uint32_t d : FabricOf(bench).Widest(ask.highest_tier)) {
      most = std::max(most, ranking.room(FabricOf(bench).domains()[d].span));
    }
    if (most >= std::max(ask.roles[r].least, 1)) continue;
    answer.role_short = static_cast<std::int32_t>(r);
    if (ranking.room() < std::max(ask.roles[r].least, 1)) answer.apart = false;
    break;
  }
  return answer;
}

}  // namespace tephra
