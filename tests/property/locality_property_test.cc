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
#include "tests/support/dice.h"
#include "tests/support/room.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

struct Place {
  std::int32_t tier = 0;
  std::set<std::string> nodes;
};

// Some nodes in racks, some racks in rows, some GPUs taken by pods of no known job.
struct World {
  SmallCluster cluster;
  std::map<std::string, NodeSpec> nodes;
  std::map<std::string, Place> places;  // by name
  std::vector<std::pair<std::string, Slices>> taken;

  explicit World(Dice& dice, const EngineConfig& config = {}) : cluster(config) {
    const int racks = dice.From(1, 4), rows = dice.From(1, 2);
    std::map<std::string, DomainSpec> specs;
    for (int row = 0; row < rows; ++row) {
      const std::string name = "row" + std::to_string(row);
      specs[name] = {name, 2, "row", {}, {}};
    }
    for (int rack = 0; rack < racks; ++rack) {
      const std::string name = "rack" + std::to_string(rack);
      specs[name] = {name, 1, "rack", {}, {}};
      // One in five belongs to no row.
      const int row = dice.Below(rows);
      if (!dice.Percent(20)) specs["row" + std::to_string(row)].domains.push_back(name);
    }
    const int count = dice.From(2, 9);
    for (int n = 0; n < count; ++n) {
      ANode node("n" + std::to_string(n));
      node.Gpus(dice.From(1, 4)).Cores(16);
      std::string rack = "rack" + std::to_string(dice.Below(racks));
      if (dice.Percent(10)) rack = "row0";  // beside its racks
      const bool homeless = dice.Percent(10);
      if (!homeless) specs[rack].nodes.push_back(NodeSpec(node).name);
      nodes.emplace(NodeSpec(node).name, node);
    }
    for (const auto& [name, spec] : specs) {
      Place& place = places[name];
      place.tier = spec.tier;
      place.nodes.insert(spec.nodes.begin(), spec.nodes.end());
      for (const std::string& part : spec.domains) {
        const DomainSpec& rack = specs[part];
        place.nodes.insert(rack.nodes.begin(), rack.nodes.end());
      }
    }
    for (auto& [name, node] : nodes) {
      for (const auto& [place, there] : places) {
        if (there.nodes.contains(name)) node.labels["in-" + place] = "yes";
      }
      cluster.Add(node);
    }
    std::uint64_t version = 0;
    std::vector<DomainSpec> sent;
    for (const auto& [name, spec] : specs) sent.push_back(spec);
    dice.Shuffle(sent);
    for (const DomainSpec& spec : sent) cluster.Tell(DomainUpserted{spec, ++version});
  }

  void Occupy(Dice& dice, int percent) {
    for (const auto& [name, node] : nodes) {
      for (std::size_t d = 0; d < node.devices.size(); ++d) {
        if (!dice.Percent(percent)) continue;
        Slices slices{{0, static_cast<std::uint16_t>(d), SliceMode::kWhole, kWholeGpu, kDeviceMib}};
        cluster.Foreign(name + "/" + std::to_string(d), name, APod().Gpus(1).Cores(1), slices);
        taken.emplace_back(name, std::move(slices));
      }
    }
  }

  // Whether the gang fits on these nodes alone.
  bool HasRoom(const std::set<std::string>& where, const GangWish& wish) const {
    std::map<std::string, NodeSpec> there;
    for (const std::string& name : where) there.emplace(name, nodes.at(name));
    Room room(there);
    for (const auto& [name, slices] : taken) {
      if (where.contains(name)) room.Take(APod().Gpus(1).Cores(1), name, slices);
    }
    return room.AnyPlacement(wish);
  }
};

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

bool Holds(const Place& place, const std::set<std::string>& nodes) {
  return std::includes(place.nodes.begin(), place.nodes.end(), nodes.begin(), nodes.end());
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

// A gang of up to three groups, each with the domains that would do for it.
struct Grouped {
  JobSpec job;
  std::vector<std::vector<std::string>> domains;  // by group
};

Grouped RandomGroups(Dice& dice, const World& world) {
  Grouped gang;
  AJob job("train");
  const int groups = dice.From(1, 3);
  for (int g = 0; g < groups; ++g) {
    const int roles = dice.Percent(70) ? 1 : 2;
    for (int r = 0; r < roles; ++r) {
      const int tasks = dice.From(1, roles == 1 ? 3 : 2);
      const std::string name = "g" + std::to_string(g) + "r" + std::to_string(r);
      job.Role(name, tasks, APod().Gpus(dice.From(1, 3)).Cores(dice.From(1, 4)), tasks);
    }
  }
  gang.job = job;
  gang.domains.resize(static_cast<std::size_t>(groups));
  for (int g = 0; g < groups; ++g) {
    GroupSpec& group = gang.job.gang.groups.emplace_back();
    group.name = "g" + std::to_string(g);
    group.min_member = 0;
    for (RoleSpec& role : gang.job.gang.roles) {
      if (!role.name.starts_with(group.name)) continue;
      role.group = group.name;
      group.min_member += role.replicas;
    }
    const std::int32_t highest = dice.From(1, 2);
    group.locality = {Locality::Mode::kRequired, highest, ""};
    for (const auto& [name, place] : world.places) {
      if (place.tier <= highest) gang.domains[static_cast<std::size_t>(g)].push_back(name);
    }
  }
  return gang;
}

// Whether some choice of a domain for each group has room for all of them at once.
bool AnyChoice(const World& world, const Grouped& gang, std::size_t g, JobSpec& chosen) {
  if (g == gang.domains.size()) {
    std::set<std::string> all;
    for (const auto& [name, node] : world.nodes) all.insert(name);
    GangWish wish;
    for (const RoleSpec& role : chosen.gang.roles) {
      wish.roles.push_back({role.pod, role.replicas, role.replicas});
      wish.least += role.replicas;
    }
    return world.HasRoom(all, wish);
  }
  return std::any_of(gang.domains[g].begin(), gang.domains[g].end(), [&](const std::string& name) {
    for (std::size_t r = 0; r < chosen.gang.roles.size(); ++r) {
      if (gang.job.gang.roles[r].group != gang.job.gang.groups[g].name) continue;
      chosen.gang.roles[r].pod.constraints.selector = {{"in-" + name, "yes"}};
    }
    return AnyChoice(world, gang, g + 1, chosen);
  });
}

TEST_CASE(
    "A gang with groups starts whole, each in one domain; a gang reported infeasible is infeasible") {
  int started = 0, impossible = 0, missed = 0;
  ForEachSeed(2000, [&](std::uint64_t seed) {
    Dice dice(seed + 10000000);
    World world(dice);
    world.Occupy(dice, dice.Pick<int>({0, 20, 40, 60}));
    const Grouped gang = RandomGroups(dice, world);
    world.cluster.Add(gang.job);
    const NamedPlan& plan = world.cluster.Tick();
    INFO(Text(world.cluster.books().kinds, plan));
    REQUIRE(plan.dropped.empty());
    const NamedDecision& said = world.cluster.Of("train");
    JobSpec chosen = gang.job;
    const bool possible = AnyChoice(world, gang, 0, chosen);
    if (said.verdict != Verdict::kStart) {
      const bool proven =
          said.reason->obstacle != Obstacle::kGroups && said.reason->obstacle != Obstacle::kSearch;
      REQUIRE((!possible || !proven));
      missed += possible;
      impossible += !possible;
      return;
    }
    ++started;
    std::int32_t tasks = 0;
    for (std::size_t g = 0; g < gang.domains.size(); ++g) {
      std::set<std::string> nodes;
      for (const NamedPlacement& placement : said.placements) {
        if (placement.role.starts_with("g" + std::to_string(g))) {
          nodes.insert(placement.node), ++tasks;
        }
      }
      REQUIRE(std::any_of(
          gang.domains[g].begin(), gang.domains[g].end(),
          [&](const std::string& name) { return Holds(world.places.at(name), nodes); }));
    }
    std::int32_t all = 0;
    for (const RoleSpec& role : gang.job.gang.roles) all += role.replicas;
    REQUIRE(tasks == all);
  });
  WARN(started << " started, " << impossible << " could not, " << missed
               << " could have, and were not found a place");
  CHECK(started > 0);
  CHECK(impossible > 0);
  CHECK(missed * 20 <= started);
}

}  // namespace
}  // namespace tephra
