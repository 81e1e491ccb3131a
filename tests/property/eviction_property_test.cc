// The laws of evictions, judged by brute force on instances of at most 6 nodes, 8 jobs and 4
// queues: the victims for a gang are the fewest and cheapest, and no evictions could help a gang without
// victims. Shares and costs come from the engine (the water-fill has an oracle of its own).
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "plugins/fairshare/fair_shares.h"
#include "plugins/preemption/victim_cost.h"
#include "plugins/registry.h"
#include "tests/property/complaints.h"
#include "tests/property/laws.h"
#include "tests/support/build.h"
#include "tests/support/dice.h"
#include "tests/support/eviction_oracle.h"
#include "tests/support/mirror.h"
#include "tests/support/random_case.h"

namespace tephra {
namespace {

struct World {
  Engine engine{DefaultAssembly()};
  Complaints complaints{engine};
  Mirror mirror;
  std::uint64_t version = 0;
  std::map<std::string, std::vector<std::string>> budgets;  // by job

  void Tell(const Event& event) {
    const absl::Status status = engine.Apply(event);
    INFO(status.ToString());
    REQUIRE(status.ok());
    mirror.Apply(event);
  }
  NamedPlan Tick(TimeMs now) {
    const Plan plan = engine.Tick(now);
    return NameOf(engine.state(), plan);
  }
};

EngineConfig Evicting(Dice& dice, bool evicting) {
  EngineConfig config;
  // In half of the worlds reclaim may lose any work.
  config.lost_work.patience_ms = dice.Percent(50) ? 0 : dice.From(100, 1000) * kSecondMs;
  config.lost_work.quota_patience_ms = dice.Percent(70) ? 0 : dice.From(100, 1000) * kSecondMs;
  config.lost_work.max_loss_percent = dice.Pick<int>({0, 10, 100, 300});
  config.lost_work.restart_cost_ms = dice.From(0, 60) * kSecondMs;
  config.assume_timeout_ms = 1000 * kSecondMs;
  if (!evicting) config.disabled_actions = {"reclaim", "preempt"};
  return config;
}

// What stands in the way of a pod, beside the lack of room.
enum class Way { kRoom, kLimits, kVolumes };

// Host ports, and anti-affinities per node and per rack: terms that match their carrier, terms that
// do not, and pods that carry no term and are matched.
void AddLimits(Dice& dice, PodTemplate& pod) {
  if (dice.Percent(25)) pod.limits.push_back({"port", kHostnameKey, 1});
  for (const char* key : {kHostnameKey, "rack"}) {
    const std::string group = std::string("app-") + (key == kHostnameKey ? "node" : "rack");
    switch (dice.Below(6)) {
      case 0:
        pod.limits.push_back({group, key, 1});
        break;
      case 1:
        pod.limits.push_back({group, key, 0, false});
        break;
      case 2:
        pod.limits.push_back({group, key, DomainLimit::kNoBound});
        break;
      case 3:
        pod.limits.push_back({group, key, 2});
        break;
    }
  }
}

PodTemplate RandomPod(Dice& dice) {
  APod pod;
  pod.Cores(1 + dice.Below(2));
  const int what = dice.Below(10);
  if (what < 5) {
    pod.Gpus(1 + dice.Below(2));
  } else if (what < 9) {
    pod.Share(250 * (1 + dice.Below(3)), 20000 * (1 + dice.Below(3)));
  }
  return pod;
}

JobSpec RandomJob(Dice& dice, const std::string& name, const std::vector<std::string>& queues) {
  AJob job(name);
  const int replicas = 1 + dice.Below(3);
  // What a gang of several roles asks for is settled by their minimums.
  const bool two = dice.Percent(15), rigid = two || dice.Percent(60);
  job.Role("w", replicas, RandomPod(dice), rigid ? replicas : dice.Below(replicas));
  if (two) job.Role("x", 1, RandomPod(dice), 1);
  JobSpec spec = job;
  int least = 0, all = 0;
  for (const RoleSpec& role : spec.gang.roles) least += role.min, all += role.replicas;
  spec.gang.min_member = dice.Percent(70) ? std::max(least, 1) : all;
  // What runs beyond the roles' minimums is judged by the gang's.
  spec.gang.min_member = std::max(spec.gang.min_member, least);
  spec.queue = dice.Pick(queues);
  spec.priority = dice.Below(3);
  spec.created = dice.Below(1000);
  spec.preemptible = dice.Percent(90);
  return spec;
}

// In some worlds there are GPUs of two models, and quotas by them.
void TellQueue(Dice& aside, World& world, QueueSpec queue) {
  if (!world.mirror.models().empty()) AddModelQuotas(aside, queue);
  queue.guarantee = {};  // judged elsewhere: the oracle knows of none
  world.Tell(QueueUpserted{queue, ++world.version});
}

std::vector<std::string> TellQueues(Dice& dice, World& world) {
  std::vector<std::string> names = {"q0", "q1", "q2"};
  Dice aside = Aside(dice);
  if (aside.Percent(30)) world.Tell(kModelKinds);
  const bool department = dice.Percent(40);
  for (const std::string& name : names) {
    AQueue queue(name);
    if (dice.Percent(60)) queue.Deserved(kGpu, 1000 * dice.Below(6));
    queue.Weight(1 + dice.Below(3));
    if (dice.Percent(20)) queue.Limit(kGpu, 1000 * (1 + dice.Below(6)));
    queue.Reclaimable(dice.Percent(90));
    if (dice.Percent(20)) queue.Priority(1);
    if (department && name != "q0") queue.Under("d");
    TellQueue(aside, world, queue);
  }
  if (department) {
    AQueue queue("d");
    if (dice.Percent(50)) queue.Deserved(kGpu, 1000 * dice.Below(8));
    if (dice.Percent(20)) queue.Limit(kGpu, 1000 * (2 + dice.Below(6)));
    TellQueue(aside, world, queue);
  }
  return names;
}

const std::vector<std::string> kBudgets = {"b0", "b1", "unknown"};

void TellBudgets(Dice& dice, World& world) {
  for (const char* name : {"b0", "b1"}) {
    world.Tell(DisruptionBudgetUpserted{name, dice.Below(3), ++world.version});
  }
}

// Every placement of the plan is bound and runs, since some time.
void Confirm(Dice& dice, World& world, const NamedPlan& plan) {
  for (const NamedDecision& decision : plan.decisions) {
    if (decision.verdict != Verdict::kStart) continue;
    for (const NamedPlacement& placed : decision.placements) {
      TaskFact fact;
      fact.job = decision.job;
      fact.role = placed.role;
      fact.index = placed.index;
      fact.uid = fact.job + "/" + fact.role + "/" + std::to_string(fact.index);
      fact.phase = TaskPhase::kRunning;
      fact.node = placed.node;
      fact.slices = placed.slices;
      fact.started = (1 + dice.Below(100)) * kSecondMs;
      // A budget picks its pods by label, so each time that a gang starts they are in the same.
      const auto [budget, fresh] = world.budgets.try_emplace(fact.job);
      if (fresh && dice.Percent(30)) budget->second.push_back(dice.Pick(kBudgets));
      fact.disruption_budgets = budget->second;
      world.Tell(TaskUpserted{fact, ++world.version});
    }
  }
}

EvictionCost CostOf(const NamedDecision& decision, const Books& books, TimeMs now,
                    const Share::Answer& shares) {
  EvictionCost cost{decision.reason->gangs_broken * EvictionCost::kGang, 0, 0};
  std::int32_t living = 0;
  const Snapshot snapshot(books, now, &living);
  const VictimCost costs(books.config);
  for (const std::string& uid : decision.evictions) {
    for (std::size_t t = 0; t < books.tasks.size(); ++t) {
      if (books.tasks[t].uid != uid) continue;
      cost += {0, 1, costs.Cost(snapshot, shares, TaskId(t)).value_or(0)};
    }
  }
  return cost;
}

struct Tally {
  int judged = 0, evicted = 0, impossible = 0, unproven = 0, given_up = 0, kept_off = 0;
};

// A gang with a choice of GPU models, of one of which its queue may not hold all that there is: it
// is kept off that model as a whole, which the oracle does not do.
bool MayBeKeptOff(const Mirror& mirror, const std::string& uid) {
  const MirrorJob& job = mirror.jobs().at(uid);
  const bool choice = std::any_of(job.roles.begin(), job.roles.end(), [](const auto& role) {
    return role.second.pod.constraints.device_models.size() != 1;
  });
  KindSet limited = 0;
  for (std::string at = job.spec.queue; mirror.queues().contains(at);
       at = mirror.queues().at(at).parent) {
    limited |= mirror.queues().at(at).limited_kinds;
  }
  for (const auto& [name, queue] : mirror.queues()) {
    if (!job.spec.preemptible) limited |= queue.deserved.NonZero();
  }
  return choice && std::any_of(mirror.models().begin(), mirror.models().end(),
                               [&](const auto& m) { return (limited >> m.second & 1u) != 0; });
}

// A cluster on which jobs run that were placed without evictions, and others that have come since.
std::unique_ptr<World> Crowded(Dice& dice, Way way = Way::kRoom) {
  auto made = std::make_unique<World>();
  World& world = *made;
  Dice settings = Aside(dice);
  world.Tell(ConfigChanged{Evicting(settings, false)});
  const std::vector<std::string> queues = TellQueues(dice, world);
  TellBudgets(dice, world);
  Dice aside = Aside(dice);
  const bool models = !world.mirror.models().empty();
  const int nodes = 1 + dice.Below(6);
  for (int n = 0; n < nodes; ++n) {
    ANode node("n" + std::to_string(n));
    node.Cores(3 + dice.Below(8)).Gpus(1 + dice.Below(3));
    NodeSpec spec = node;
    if (way == Way::kLimits && aside.Percent(90)) spec.labels["rack"] = aside.Percent(50) ? "a" : "b";
    for (DeviceHardware& device : spec.devices) {
      if (models) device.model = aside.Percent(60) ? "A" : "B";
    }
    if (way == Way::kVolumes) AddVolumeLimits(aside, spec);
    world.Tell(NodeUpserted{spec, ++world.version});
  }
  const auto tell = [&](JobSpec job) {
    for (RoleSpec& role : job.gang.roles) {
      if (way == Way::kLimits) AddLimits(aside, role.pod);
      if (way == Way::kVolumes) AddVolumes(aside, 60, role.pod);
      if (models && aside.Percent(60)) {
        role.pod.constraints.device_models = {aside.Percent(60) ? "A" : "B"};
      }
    }
    world.Tell(JobUpserted{job, ++world.version});
  };
  const int jobs = 2 + dice.Below(6);
  for (int j = 0; j < jobs; ++j) {
    tell(RandomJob(dice, "old" + std::to_string(j), queues));
  }
  const NamedPlan first = world.Tick(100 * kSecondMs);
  REQUIRE(world.mirror.Follow(first, 100 * kSecondMs, Mirror::Judge::kSoundness) == "");
  Confirm(dice, world, first);
  const int fresh = 1 + dice.Below(8 - jobs > 0 ? 8 - jobs : 1);
  for (int j = 0; j < fresh; ++j) {
    tell(RandomJob(dice, "new" + std::to_string(j), queues));
  }
  world.Tell(ConfigChanged{Evicting(settings, true)});
  return made;
}

void TryOne(std::uint64_t seed, Tally& tally, Way way = Way::kRoom) {
  Dice dice(seed + 5000000);
  const std::unique_ptr<World> made = Crowded(dice, way);
  World& world = *made;
  const TimeMs now = 200 * kSecondMs;
  // As the cycle finds it.
  EvictionOracle oracle(world.engine.state().books(), now);
  const Share::Answer shares = FairShares().Of(world.engine.state().books());
  const Books before = world.engine.state().books();
  const NamedPlan plan = world.Tick(now);
  INFO("the plan:\n" << Text(world.engine.state().books().kinds, plan) << world.complaints.all);
  std::set<std::string> placed, evicted;
  for (std::size_t d = 0; d < plan.decisions.size(); ++d) {
    const NamedDecision& decision = plan.decisions[d];
    Mirror mirror = world.mirror;
    NamedPlan so_far = plan;
    so_far.decisions.resize(d);
    REQUIRE(mirror.Follow(so_far, now, Mirror::Judge::kSoundness) == "");
    const bool evicts = decision.verdict == Verdict::kStartAfterEviction;
    const Obstacle why = decision.reason->obstacle;
    const bool refused =
        decision.verdict == Verdict::kWait && decision.part == Part::kMinimum &&
        (why == Obstacle::kRoom || why == Obstacle::kTogether || why == Obstacle::kQueueLimit);
    if (evicts || refused) {
      INFO("job " << decision.job);
      const EvictionOracle::Verdict best = oracle.Best(mirror, decision.job, placed, evicted);
      if (MayBeKeptOff(mirror, decision.job)) {
        ++tally.kept_off;
      } else if (best.given_up) {
        ++tally.given_up;
      } else if (decision.reason->remedy == Remedy::kSearch || !decision.reason->fewest) {
        ++tally.unproven;
      } else if (evicts) {
        REQUIRE(best.possible);
        const EvictionCost cost = CostOf(decision, before, now, shares);
        INFO("gangs " << cost.gangs / EvictionCost::kGang << ", tasks " << cost.tasks << ", cost "
                      << cost.sum << "; the best: gangs " << best.cost.gangs / EvictionCost::kGang
                      << ", tasks " << best.cost.tasks << ", cost " << best.cost.sum);
        REQUIRE(cost == best.cost);
        ++tally.judged, ++tally.evicted;
      } else {
        REQUIRE_FALSE(best.possible);
        ++tally.judged, ++tally.impossible;
      }
    }
    if (!decision.placements.empty()) placed.insert(decision.job);
    evicted.insert(decision.evictions.begin(), decision.evictions.end());
  }
  REQUIRE(world.mirror.Follow(plan, now, Mirror::Judge::kSoundness) == "");
}

// Continues without any facts but the outcomes of the plans. Evicted tasks end at once and are
// created again; started tasks run.
void LiveOn(std::uint64_t seed, int& evictions, int& twice) {
  Dice dice(seed + 6000000);
  const std::unique_ptr<World> made = Crowded(dice);
  World& world = *made;
  std::map<std::string, int> served, evicted;
  std::set<std::string> waiting;
  std::string sent;
  TimeMs now = 200 * kSecondMs;
  bool quiet = false;
  for (int round = 0; round < 12 && !quiet; ++round, now += kSecondMs) {
    const NamedPlan plan = world.Tick(now);
    sent += "round " + std::to_string(round) + "\n" +
            Text(world.engine.state().books().kinds, plan) + world.complaints.all;
    INFO(sent);
    REQUIRE(world.mirror.Follow(plan, now, Mirror::Judge::kSoundness) == "");
    quiet = std::all_of(plan.decisions.begin(), plan.decisions.end(),
                        [](const NamedDecision& one) { return one.placements.empty(); });
    for (const NamedDecision& decision : plan.decisions) {
      if (decision.verdict == Verdict::kStart) waiting.erase(decision.job);
      if (decision.verdict != Verdict::kStartAfterEviction) continue;
      waiting.insert(decision.job);
      if (decision.evictions.empty()) continue;
      ++evictions;
      REQUIRE(++served[decision.job] == 1);
      for (const std::string& uid : decision.evictions) {
        const int times = ++evicted[uid];
        REQUIRE(times <= 2);
        twice += times == 2;
      }
    }
    Confirm(dice, world, plan);
    for (const NamedDecision& decision : plan.decisions) {
      for (const std::string& uid : decision.evictions) world.Tell(TaskRemoved{uid});
    }
  }
  INFO(sent);
  REQUIRE(quiet);
  REQUIRE(waiting.empty());
}

TEST_CASE("Evictions come to an end, and each gang with victims starts") {
  int evictions = 0, twice = 0;
  ForEachSeed(5000, [&](std::uint64_t seed) { LiveOn(seed, evictions, twice); });
  WARN(evictions << " gangs had victims; " << twice << " tasks were evicted twice");
  // Where a small job reclaims a large gang's room, a better one of its own queue that was too
  // large to do so itself may then have the small one evicted (docs/adr/0008).
  CHECK(twice <= evictions / 200);
}

TEST_CASE(
    "The victims for a gang are the fewest and cheapest, and none only if no evictions help") {
  Tally tally;
  ForEachSeed(5000, {65839}, [&](std::uint64_t seed) { TryOne(seed, tally); });
  WARN(tally.judged << " gangs judged: " << tally.evicted << " helped by evictions, "
                    << tally.impossible << " proven beyond help; " << tally.unproven
                    << " answers without a proof, " << tally.given_up
                    << " too large for the brute force, " << tally.kept_off
                    << " that may have been kept off a GPU model");
  CHECK(tally.unproven <= tally.judged / 1000);
}

TEST_CASE("Pods in the way by host port or anti-affinity are evicted exactly if that is the cheapest way") {
  Tally tally;
  ForEachSeed(1000, [&](std::uint64_t seed) { TryOne(seed, tally, Way::kLimits); });
  WARN(tally.judged << " gangs with limits judged: " << tally.evicted << " helped by evictions, "
                    << tally.impossible << " proven beyond help; " << tally.unproven
                    << " answers without a proof, " << tally.given_up
                    << " too large for the brute force");
  CHECK(tally.unproven <= tally.judged / 100);
  if (AllSeeds()) CHECK(tally.evicted > 100);
}

TEST_CASE("Pods in the way by their volumes are evicted exactly if that is the cheapest way") {
  Tally tally;
  ForEachSeed(1000, {8618}, [&](std::uint64_t seed) { TryOne(seed, tally, Way::kVolumes); });
  WARN(tally.judged << " gangs with volumes judged: " << tally.evicted << " helped by evictions, "
                    << tally.impossible << " proven beyond help; " << tally.unproven
                    << " answers without a proof, " << tally.given_up
                    << " too large for the brute force");
  CHECK(tally.unproven <= tally.judged / 100);
  if (AllSeeds()) CHECK(tally.evicted > 100);
}

}  // namespace
}  // namespace tephra
