// One suite for each question, over every answer in the registry.
#include <catch2/catch.hpp>

#include "plugins/registry.h"
#include "tests/support/frozen.h"
#include "tests/support/random_case.h"

namespace tephra {
namespace {

EngineConfig With(const std::string& score) {
  EngineConfig config;
  config.node_scores = config.device_scores = {{score, 1}};
  config.expected_pods = {
      {4000, 1, 1000, {}, 0.5}, {1000, 1, 250, {"A"}, 0.3}, {8000, 0, 0, {}, 0.2}};
  return config;
}

Policies PoliciesOf(const EngineConfig& config, const Snapshot& snapshot) {
  const Assembly assembly = DefaultAssembly();
  REQUIRE(assembly.validate(config).ok());
  return assembly.policies(config, assembly.score(config, snapshot.books(), nullptr));
}

// Random nodes, some of them over-committed, and one far beyond any trace.
void Fill(Frozen& cluster, Dice& dice) {
  for (const Event& event : RandomCase(dice, {.jobs = 12, .queue_limits = true})) {
    cluster.Tell(event);
  }
  cluster.Add(ANode("huge").Cores(4096).Memory(std::int64_t{1} << 50).Gpus(64, "A", 500000));
  cluster.Add(
      AJob("huge").Role("w", 1, APod().Cores(2048).Gpus(64)).Role("v", 1, APod().Cores(4000)));
  REQUIRE(cluster.applied_ok());
}

template <class Each>
void EachPair(const Snapshot& snapshot, Each each) {
  for (NodeId node : snapshot.hardware().ranked()) {
    const NodeView view = snapshot.occupancy().View(snapshot.hardware(), node);
    for (const JobRow& job : snapshot.books().jobs) {
      for (const RoleRow& role : job.roles) each(view, snapshot.cls(role.cls));
    }
  }
}

TEST_CASE("Order: a strict total order") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Dice dice(seed);
    Frozen cluster;
    Fill(cluster, dice);
    const Snapshot snapshot = cluster.state().Freeze(0);
    const Policies policies = PoliciesOf({}, snapshot);
    const auto before = [&](std::size_t a, std::size_t b) {
      return policies.order->Before(snapshot, JobId(a), JobId(b));
    };
    const std::size_t jobs = snapshot.books().jobs.size();
    INFO("seed " << seed);
    for (std::size_t a = 0; a < jobs; ++a) {
      REQUIRE_FALSE(before(a, a));
      for (std::size_t b = 0; b < jobs; ++b) {
        REQUIRE((a == b || before(a, b) != before(b, a)));
        for (std::size_t c = 0; c < jobs; ++c) {
          if (before(a, b) && before(b, c)) REQUIRE(before(a, c));
        }
      }
    }
  }
}

TEST_CASE("Fit: its four answers agree with each other, twice, and change nothing") {
  for (const std::string& score : ScoreNames()) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      Dice dice(seed);
      Frozen cluster;
      Fill(cluster, dice);
      const Snapshot snapshot = cluster.state().Freeze(0);
      const Policies policies = PoliciesOf(With(score), snapshot);
      const Occupancy before = snapshot.occupancy();
      const Fit& fit = *policies.fit;
      INFO(score << ", seed " << seed);
      EachPair(snapshot, [&](const NodeView& view, const TaskClass& cls) {
        if (CheckNode(view.spec, cls.pod.constraints, cls.needs_devices()) != Ineligible::kNo)
          return;
        const Fit::Answer answer = fit.Check(view, cls, 3);
        const bool fits = answer.misfit == Misfit::kFits;
        REQUIRE(fit.Check(view, cls, 3).misfit == answer.misfit);
        REQUIRE(fit.Check(view, cls, 3).deficit == answer.deficit);
        REQUIRE((answer.deficit == 0) == fits);
        REQUIRE(fit.Check(view, cls, 0).misfit == Misfit::kLimit);
        REQUIRE(fit.Copies(view, cls, 3) <= 3);
        REQUIRE(fit.Copies(view, cls, 0) == 0);
        const std::vector<Slices> options = fit.Options(view, cls);
        if (!fits) return;
        REQUIRE(fit.Copies(view, cls, 3) >= 1);
        REQUIRE(!options.empty());
        REQUIRE(options == fit.Options(view, cls));
        const Slices chosen = fit.Choose(view, cls, seed);
        REQUIRE(chosen == fit.Choose(view, cls, seed));
        std::size_t asked = 0;
        for (const ContainerSpec& container : cls.pod.containers) {
          asked += static_cast<std::size_t>(container.devices.count);
        }
        REQUIRE(chosen.size() == asked);
        for (const Slices& option : options) REQUIRE(option.size() == asked);
      });
      REQUIRE(snapshot.occupancy().SameColumns(before));
    }
  }
}

TEST_CASE("Score: points lie between 0 and the most, and the same is answered twice") {
  for (const std::string& score : ScoreNames()) {
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      Dice dice(seed);
      Frozen cluster;
      Fill(cluster, dice);
      const Snapshot snapshot = cluster.state().Freeze(0);
      const Policies policies = PoliciesOf(With(score), snapshot);
      const Occupancy before = snapshot.occupancy();
      EachPair(snapshot, [&](const NodeView& view, const TaskClass& cls) {
        if (CheckNode(view.spec, cls.pod.constraints, cls.needs_devices()) != Ineligible::kNo)
          return;
        if (policies.fit->Check(view, cls, 1).misfit != Misfit::kFits) return;
        INFO(score << ", seed " << seed << ", node " << view.spec.name);
        const Points points = policies.score->Rate(view, cls);
        REQUIRE(points >= 0);
        REQUIRE(points <= kMaxPoints);
        REQUIRE(policies.score->Rate(view, cls) == points);
        for (const Slices& option : policies.fit->Options(view, cls)) {
          for (const Slice& slice : option) {
            for (const auto* asks : {&cls.lasting, &cls.init}) {
              for (const DeviceAsk& ask : *asks) {
                if (ask.container != slice.container) continue;
                const Points device =
                    policies.score->RateDevice(view, cls, ask, slice.device, seed);
                REQUIRE(device >= 0);
                REQUIRE(device <= kMaxPoints);
                REQUIRE(policies.score->RateDevice(view, cls, ask, slice.device, seed) == device);
              }
            }
          }
        }
      });
      REQUIRE(snapshot.occupancy().SameColumns(before));
    }
  }
}

TEST_CASE("Score: a weighted mean lies between its parts") {
  Dice dice(1);
  Frozen cluster;
  Fill(cluster, dice);
  const Snapshot snapshot = cluster.state().Freeze(0);
  EngineConfig mixed;
  mixed.node_scores = {{"binpack", 3}, {"spread", 1}};
  const Policies a = PoliciesOf(With("binpack"), snapshot),
                 b = PoliciesOf(With("spread"), snapshot), mean = PoliciesOf(mixed, snapshot);
  EachPair(snapshot, [&](const NodeView& view, const TaskClass& cls) {
    const std::int64_t sum = 3 * std::int64_t{a.score->Rate(view, cls)} + b.score->Rate(view, cls);
    REQUIRE(mean.score->Rate(view, cls) == sum / 4);
  });
}

TEST_CASE("Victims: a cost of 0 to the most there is, or none, and the same when asked again") {
  Frozen cluster;
  cluster.Add(AJob("j").Role("w", 1, APod()));
  cluster.Add(AJob("left-alone").Role("w", 1, APod()).Preemptible(false));
  const Snapshot snapshot = cluster.state().Freeze(0);
  const Policies policies = PoliciesOf({}, snapshot);
  const Share::Answer shares = policies.share->Of(snapshot.books());
  const auto cost = policies.victims->Cost(snapshot, shares, TaskId(0));
  REQUIRE(cost.has_value());
  CHECK((*cost >= 0 && *cost <= kMostVictimCost));
  CHECK(policies.victims->Cost(snapshot, shares, TaskId(0)) == cost);
  CHECK_FALSE(policies.victims->Cost(snapshot, shares, TaskId(1)).has_value());
}

}  // namespace
}  // namespace tephra
