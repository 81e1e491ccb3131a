// The laws of groups, judged by brute force over the domains of each group: a gang starts whole, each
// group in one domain where it has to be; a gang that is reported infeasible is infeasible.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/property/laws.h"
#include "tests/property/racks.h"
#include "tests/support/dice.h"
#include "tests/support/room.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

// A gang of groups, each with the domains that would do for it.
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

// A gang of groups inside groups, three deep: a role in each innermost group, and in some of the other groups.
// A group that need not be in one domain has the choice of none.
class RandomTree {
 public:
  RandomTree(Dice& dice, const World& world) : dice_(dice), world_(world), job_("train") {}

  Grouped Make() {
    const int groups = dice_.From(1, 2);
    for (int g = 0; g < groups; ++g) AddGroup("g" + std::to_string(g), "", 1);
    Grouped gang;
    gang.job = job_;
    gang.job.gang.groups = std::move(groups_);
    for (RoleSpec& role : gang.job.gang.roles) role.group = role.name.substr(0, role.name.find('r'));
    gang.domains = std::move(domains_);
    return gang;
  }

 private:
  // More would be too many choices for brute force.
  static constexpr std::size_t kMostGroups = 5;

  // The tasks of it.
  std::int32_t AddGroup(const std::string& name, const std::string& parent, int level) {
    constexpr int kLevels = 3;
    const std::size_t at = groups_.size();
    groups_.push_back({name, 0, false, {}, parent});
    std::vector<std::string>& choices = domains_.emplace_back();
    if (dice_.Percent(70)) {
      const std::int32_t highest = level == 1 ? 2 : dice_.From(1, 2);
      groups_[at].locality = {Locality::Mode::kRequired, highest, ""};
      for (const auto& [place, there] : world_.places) {
        if (there.tier <= highest) choices.push_back(place);
      }
    } else {
      choices.emplace_back();
    }
    std::int32_t tasks = 0;
    const bool more = level < kLevels && groups_.size() < kMostGroups;
    const int inner = more ? dice_.From(level == 1 ? 1 : 0, 2) : 0;
    if (inner == 0 || dice_.Percent(20)) {
      tasks = dice_.From(1, 2);
      job_.Role(name + "r", tasks, APod().Gpus(dice_.From(1, 2)).Cores(1), tasks);
    }
    for (int g = 0; g < inner; ++g) tasks += AddGroup(name + "." + std::to_string(g), name, level + 1);
    groups_[at].min_member = tasks;
    return tasks;
  }

  Dice& dice_;
  const World& world_;
  AJob job_;
  std::vector<GroupSpec> groups_;
  std::vector<std::vector<std::string>> domains_;
};

// The names of the groups say what is inside of what.
bool IsIn(const std::string& group, const std::string& outer) {
  return group == outer || group.starts_with(outer + ".");
}

// The nodes that are left for the group once each group up to it has its domain.
std::set<std::string> NodesFor(const World& world, const Grouped& gang,
                               const std::vector<std::string>& chosen, const std::string& group) {
  std::set<std::string> nodes;
  for (const auto& [name, node] : world.nodes) nodes.insert(name);
  for (std::size_t g = 0; g < chosen.size(); ++g) {
    if (chosen[g].empty() || !IsIn(group, gang.job.gang.groups[g].name)) continue;
    const std::set<std::string>& inside = world.places.at(chosen[g]).nodes;
    std::erase_if(nodes, [&](const std::string& node) { return !inside.contains(node); });
  }
  return nodes;
}

// Whether the roles of these groups, each on the nodes that are left for it, have room at once.
bool HasRoom(const World& world, const Grouped& gang, const std::vector<std::string>& chosen,
             const std::string& of) {
  GangWish wish;
  for (const RoleSpec& role : gang.job.gang.roles) {
    if (!of.empty() && !IsIn(role.group, of)) continue;
    PodTemplate pod = role.pod;
    for (std::size_t g = 0; g < chosen.size(); ++g) {
      if (chosen[g].empty() || !IsIn(role.group, gang.job.gang.groups[g].name)) continue;
      pod.constraints.selector["in-" + chosen[g]] = "yes";
    }
    wish.roles.push_back({pod, role.replicas, role.replicas});
    wish.least += role.replicas;
  }
  return world.HasRoom(NodesFor(world, gang, chosen, of), wish);
}

// Whether some choice of a domain for each group has room for all of them at once. A group that has
// no room alone in its domain needs no choice for the groups behind it.
bool AnyChoice(const World& world, const Grouped& gang, std::vector<std::string>& chosen) {
  const std::size_t g = chosen.size();
  if (g == gang.domains.size()) return HasRoom(world, gang, chosen, "");
  bool any = false;
  for (std::size_t c = 0; c < gang.domains[g].size() && !any; ++c) {
    chosen.push_back(gang.domains[g][c]);
    any = HasRoom(world, gang, chosen, gang.job.gang.groups[g].name) &&
          AnyChoice(world, gang, chosen);
    chosen.pop_back();
  }
  return any;
}

struct Judged {
  int started = 0, impossible = 0, missed = 0;
};

// A gang that starts is whole, each group in a domain that would do. A gang that is said to be
// infeasible is.
void Judge(World& world, const Grouped& gang, Judged& judged) {
  world.cluster.Add(gang.job);
  const NamedPlan& plan = world.cluster.Tick();
  INFO(Text(world.cluster.books().kinds, plan));
  REQUIRE(plan.dropped.empty());
  const NamedDecision& said = world.cluster.Of("train");
  if (said.verdict != Verdict::kStart) {
    std::vector<std::string> chosen;
    const bool possible = AnyChoice(world, gang, chosen);
    const bool proven =
        said.reason->obstacle != Obstacle::kGroups && said.reason->obstacle != Obstacle::kSearch;
    REQUIRE((!possible || !proven));
    judged.missed += possible;
    judged.impossible += !possible;
    return;
  }
  ++judged.started;
  for (std::size_t g = 0; g < gang.domains.size(); ++g) {
    const GroupSpec& group = gang.job.gang.groups[g];
    std::set<std::string> nodes;
    std::int32_t tasks = 0;
    for (const NamedPlacement& placement : said.placements) {
      if (!IsIn(placement.role.substr(0, placement.role.find('r')), group.name)) continue;
      nodes.insert(placement.node), ++tasks;
    }
    REQUIRE(tasks == group.min_member);
    REQUIRE(std::any_of(gang.domains[g].begin(), gang.domains[g].end(), [&](const std::string& name) {
      return name.empty() || Holds(world.places.at(name), nodes);
    }));
  }
  std::int32_t all = 0;
  for (const RoleSpec& role : gang.job.gang.roles) all += role.replicas;
  REQUIRE(said.placements.size() == static_cast<std::size_t>(all));
}

TEST_CASE(
    "A gang with groups starts whole, each in one domain; a gang reported infeasible is infeasible") {
  Judged judged;
  ForEachSeed(2000, [&](std::uint64_t seed) {
    Dice dice(seed + 10000000);
    World world(dice);
    world.Occupy(dice, dice.Pick<int>({0, 20, 40, 60}));
    const Grouped gang = RandomGroups(dice, world);
    Judge(world, gang, judged);
  });
  WARN(judged.started << " started, " << judged.impossible << " could not, " << judged.missed
                      << " could have, and were not found a place");
  CHECK(judged.started > 0);
  CHECK(judged.impossible > 0);
  CHECK(judged.missed * 20 <= judged.started);
}

TEST_CASE("So does a gang with groups inside groups, three deep") {
  Judged judged;
  ForEachSeed(2000, [&](std::uint64_t seed) {
    Dice dice(seed + 11000000);
    World world(dice);
    world.Occupy(dice, dice.Pick<int>({0, 20, 40, 60}));
    const Grouped gang = RandomTree(dice, world).Make();
    Judge(world, gang, judged);
  });
  WARN(judged.started << " started, " << judged.impossible << " could not, " << judged.missed
                      << " could have, and were not found a place");
  CHECK(judged.started > 0);
  CHECK(judged.impossible > 0);
  CHECK(judged.missed * 20 <= judged.started);
}

}  // namespace
}  // namespace tephra
