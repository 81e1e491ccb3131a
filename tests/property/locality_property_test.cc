// The laws of locality, judged by brute force on clusters of at most nine nodes in racks and rows:
// a gang that has to be in one domain starts if and only if one has room for all of it, in one of
// the lowest tier that has; any other gang is in one rack if one has room; and the
// victims for a gang that needs one domain are as few as in the best of these domains alone.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/property/laws.h"
#include "tests/property/racks.h"
#include "tests/support/dice.h"
#include "tests/support/room.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

struct Gang {
  JobSpec job;
  GangWish wish;
};

Gang RandomGang(Dice& dice, bool one_role) {
  Gang gang;
  AJob job("train");
  const int roles = one_role || dice.Percent(60) ? 1 : 2;
  for (int r = 0; r < roles; ++r) {
    const int tasks = dice.From(1, 4);
    const PodTemplate pod = APod().Gpus(dice.From(1, one_role ? 1 : 3)).Cores(dice.From(1, 4));
    job.Role("r" + std::to_string(r), tasks, pod, tasks);
    gang.wish.roles.push_back({pod, tasks, tasks});
    gang.wish.least += tasks;
  }
  gang.job = job;
  return gang;
}

std::set<std::string> NodesOf(const NamedDecision& decision) {
  std::set<std::string> nodes;
  for (const NamedPlacement& placement : decision.placements) nodes.insert(placement.node);
  return nodes;
}

TEST_CASE("A gang that has to be in one domain starts where one has room, and nowhere else") {
  int started = 0, apart = 0;
  ForEachSeed(2000, [&](std::uint64_t seed) {
    Dice dice(seed + 7000000);
    World world(dice);
    world.Occupy(dice, dice.Pick<int>({0, 20, 40, 60}));
    Gang gang = RandomGang(dice, false);
    gang.job.locality.mode = Locality::Mode::kRequired;
    const std::int32_t highest = dice.From(1, 2);
    if (dice.Percent(30)) {
      gang.job.locality.highest_tier_name = highest == 1 ? "rack" : "row";
    } else {
      gang.job.locality.highest_tier = highest;
    }
    world.cluster.Add(gang.job);
    const NamedPlan& plan = world.cluster.Tick();
    REQUIRE(plan.dropped.empty());
    const NamedDecision& said = world.cluster.Of("train");
    INFO(Text(world.cluster.books().kinds, plan));
    std::optional<std::int32_t> lowest;
    for (const auto& [name, place] : world.places) {
      if (place.tier > highest || !world.HasRoom(place.nodes, gang.wish)) continue;
      lowest = std::min(lowest.value_or(place.tier), place.tier);
    }
    REQUIRE((said.verdict == Verdict::kStart) == lowest.has_value());
    if (!lowest.has_value()) {
      apart += said.reason->obstacle == Obstacle::kLocality;
      return;
    }
    ++started;
    REQUIRE(std::any_of(world.places.begin(), world.places.end(), [&](const auto& place) {
      return place.second.tier == *lowest && Holds(place.second, NodesOf(said));
    }));
  });
  WARN(started << " started, " << apart << " had room, but not in one domain");
  CHECK(started > 0);
  CHECK(apart > 0);
}

TEST_CASE(
    "A gang that need not be in one domain starts all the same, in one rack where one has room") {
  int crossed = 0;
  ForEachSeed(2000, [&](std::uint64_t seed) {
    Dice dice(seed + 8000000);
    World world(dice);
    world.Occupy(dice, dice.Pick<int>({0, 30, 60}));
    Gang gang = RandomGang(dice, true);
    if (gang.wish.least < 2) return;
    if (dice.Percent(50)) gang.job.locality.mode = Locality::Mode::kPreferred;
    world.cluster.Add(gang.job);
    world.cluster.Tick();
    std::set<std::string> all;
    for (const auto& [name, node] : world.nodes) all.insert(name);
    REQUIRE(world.cluster.Started("train") == world.HasRoom(all, gang.wish));
    if (!world.cluster.Started("train")) return;
    const std::set<std::string> nodes = NodesOf(world.cluster.Of("train"));
    // A node that is in no rack is one of its own.
    std::vector<std::set<std::string>> racks;
    std::set<std::string> in_racks;
    for (const auto& [name, place] : world.places) {
      if (place.tier > 1 || place.nodes.empty()) continue;
      racks.push_back(place.nodes);
      in_racks.insert(place.nodes.begin(), place.nodes.end());
    }
    for (const std::string& name : all) {
      if (!in_racks.contains(name)) racks.push_back({name});
    }
    const auto used = std::count_if(racks.begin(), racks.end(), [&](const auto& rack) {
      return std::any_of(nodes.begin(), nodes.end(),
                         [&](const auto& n) { return rack.contains(n); });
    });
    crossed += used > 1;
    if (used == 1) return;
    for (const std::set<std::string>& rack : racks) {
      INFO(Text(world.cluster.books().kinds, world.cluster.plan()));
      REQUIRE((rack.size() == 1 || !world.HasRoom(rack, gang.wish)));
    }
  });
  WARN(crossed << " gangs in more than one rack");
  CHECK(crossed > 0);
}

// As many gangs broken and tasks evicted for it; nothing where it does not start.
using Price = std::optional<std::pair<std::int64_t, std::size_t>>;

Price PriceOf(const SmallCluster& cluster) {
  const NamedDecision& said = cluster.Of("train");
  if (said.verdict == Verdict::kStart) return std::pair<std::int64_t, std::size_t>{0, 0};
  if (said.verdict != Verdict::kStartAfterEviction) return std::nullopt;
  return std::pair{said.reason->gangs_broken, said.evictions.size()};
}

TEST_CASE("For a gang tied to a domain as few go as in the best of those by itself") {
  int helped = 0, beyond = 0;
  ForEachSeed(400, [&](std::uint64_t seed) {
    // The same world for each try: once tied, and once for each domain with a label of its own.
    const auto play = [&](const std::string& only, std::int32_t& highest,
                          std::vector<std::string>* domains) {
      Dice dice(seed + 9000000);
      World world(dice);
      const int jobs = dice.From(2, 7);
      for (int j = 0; j < jobs; ++j) {
        AJob job("old" + std::to_string(j));
        const int tasks = dice.From(1, 3);
        job.Role("w", tasks, APod().Gpus(dice.From(1, 2)).Cores(1), dice.From(1, tasks));
        world.cluster.Add(job);
      }
      world.cluster.Tick();
      world.cluster.Confirm();
      Gang gang = RandomGang(dice, false);
      gang.job.priority = 9;
      highest = dice.From(1, 2);
      if (only.empty()) {
        gang.job.locality = {Locality::Mode::kRequired, highest, ""};
      } else {
        for (RoleSpec& role : gang.job.gang.roles) {
          role.pod.constraints.selector["in-" + only] = "yes";
        }
      }
      if (domains != nullptr) {
        for (const auto& [name, place] : world.places) {
          if (place.tier <= highest) domains->push_back(name);
        }
      }
      world.cluster.Add(gang.job);
      const NamedPlan& plan = world.cluster.Tick(kSecondMs);
      INFO(only << "\n" << Text(world.cluster.books().kinds, plan));
      REQUIRE(plan.dropped.empty());
      return PriceOf(world.cluster);
    };
    std::int32_t highest = 0;
    std::vector<std::string> domains;
    const Price tied = play("", highest, &domains);
    Price best;
    for (const std::string& domain : domains) {
      const Price price = play(domain, highest, nullptr);
      if (price && (!best || *price < *best)) best = price;
    }
    REQUIRE(tied == best);
    if (!tied) {
      ++beyond;
    } else if (tied->second > 0) {
      ++helped;
    }
  });
  WARN(helped << " helped by evictions, " << beyond << " beyond help");
  CHECK(helped > 0);
  CHECK(beyond > 0);
}

}  // namespace
}  // namespace tephra
