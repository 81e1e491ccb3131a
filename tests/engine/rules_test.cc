// Rules of queues and settings that limit what a decision may do, by hand and through whole cycles.
#include <catch2/catch.hpp>

#include "tests/engine/verify_bench.h"

namespace tephra {
namespace {

TEST_CASE("Verifier: more than a queue deserves, by jobs that are not preemptible") {
  Bench bench;
  const auto start = [&](const char* job, int tasks) {
    std::vector<Placement> placements;
    for (int i = 0; i < tasks; ++i) {
      placements.push_back(
          bench.On("n", bench.task(job, i), {WholeSlice(static_cast<std::uint16_t>(i), 16000)}));
    }
    return bench.CheckOne(bench.Start(job, placements));
  };
  bench.Tell(QueueUpserted{AQueue("d").Deserved(kGpu, 3000), 1});
  bench.Tell(QueueUpserted{AQueue("e").Under("d").Deserved(kGpu, 2000), 1});
  bench.Tell(QueueUpserted{AQueue("f").Under("d").Deserved(kGpu, 4000), 1});
  bench.Add(AJob("fixed").In("e").Preemptible(false).Role("w", 3, APod().Gpus(1)));
  bench.Add(AJob("wide").In("f").Preemptible(false).Role("w", 4, APod().Gpus(1)));
  bench.Add(AJob("two").In("e").Preemptible(false).Role("w", 2, APod().Gpus(1)));
  bench.Add(AJob("loose").In("e").Role("w", 3, APod().Gpus(1)));
  Says(start("fixed", 3), "would hold more than queue e deserves of gpu: 3000 of 2000");
  Says(start("wide", 4), "would hold more than queue d deserves of gpu: 4000 of 3000");
  CHECK(start("two", 2) == "");
  CHECK(start("loose", 3) == "");
  bench.Tell(QueueUpserted{AQueue("e").Under("d").Deserved(kGpu, 2000).Reclaimable(false), 2});
  CHECK(start("fixed", 3) == "");
  bench.Tell(QueueUpserted{AQueue("e").Under("d").Deserved(kGpu, 2000), 3});
  EngineConfig config;
  config.non_preemptible_quota = NonPreemptibleQuota::kNone;
  bench.Tell(ConfigChanged{config});
  CHECK(start("fixed", 3) == "");
}

QueueSpec Delayed(AQueue queue, DurationMs delay) {
  QueueSpec spec = queue;
  spec.eviction_delay_ms = delay;
  return spec;
}

TEST_CASE("Verifier: an eviction before the eviction delay has passed") {
  Bench bench;
  bench.Add(AJob("old").In("q").Role("w", 1, APod().Gpus(1)));
  bench.Add(AJob("new").In("q").Priority(5).Created(1000).Role("w", 1, APod().Gpus(1)));
  TaskFact fact;
  fact.uid = "p", fact.job = "old", fact.role = "w", fact.phase = TaskPhase::kRunning, fact.node = "n";
  fact.slices = {WholeSlice(0, 16000)};
  bench.Tell(TaskUpserted{fact, 1});
  const auto fault = [&](DurationMs delay, std::uint64_t version) {
    bench.Tell(QueueUpserted{Delayed(AQueue("top").Limit(kGpu, 3000), delay), version});
    Decision decision = bench.Start("new", {bench.On("n", bench.task("new", 0), {WholeSlice(0, 16000)})});
    decision.verdict = Verdict::kStartAfterEviction;
    decision.evictions = {bench.task("old", 0)};
    const Snapshot snapshot = bench.state_.Freeze(2000);
    bench.verifier_.Begin(snapshot);
    bench.verifier_.LookAhead();
    return bench.verifier_.Check(decision);
  };
  CHECK(fault(1000, 2) == "");
  Says(fault(1001, 3), "evicts for job new, which waited for 1000 of 1001 ms");
}

TEST_CASE("Eviction delay: equal jobs evict one by one, each when its own delay has passed") {
  for (const JobOrder order : {JobOrder::kCreated, JobOrder::kEstimatedRuntime}) {
    EngineConfig config;
    config.job_order = order;
    config.reservations.mode = ReservationSettings::Mode::kNone;
    SmallCluster cluster(config);
    cluster.Add(Delayed(AQueue("q"), 10 * kSecondMs)).Add(ANode("n").Gpus(2));
    cluster.Add(AJob("x").In("q").Role("w", 1, APod().Gpus(1)));
    cluster.Add(AJob("y").In("q").Role("w", 1, APod().Gpus(1)));
    cluster.Tick(1000);
    cluster.Confirm();
    // The first by the order of estimates is the last to come.
    cluster.Add(AJob("a").In("q").Priority(5).Created(1000).Runs(900 * kSecondMs).Role("w", 1, APod().Gpus(1)));
    cluster.Add(AJob("b").In("q").Priority(5).Created(5000).Runs(60 * kSecondMs).Role("w", 1, APod().Gpus(1)));
    const auto evicted = [&](TimeMs now) {
      std::size_t tasks = 0;
      for (const NamedDecision& one : cluster.Tick(now).decisions) tasks += one.evictions.size();
      return tasks;
    };
    CHECK(evicted(6000) == 0);
    CHECK(evicted(10'999) == 0);
    CHECK(evicted(11'000) == 1);
    CHECK(evicted(14'999) == 0);
    CHECK(evicted(15'000) == 1);
  }
}

TEST_CASE("Incomplete gangs: the timeout counts from the cycle after a pod was lost, and ends whole") {
  EngineConfig config;
  config.incomplete_gang_timeout_ms = 60 * kSecondMs;
  SmallCluster cluster(config);
  cluster.Add(ANode("n").Gpus(4)).Add(AJob("j").PodsExist().Preemptible(false).Role("w", 3, APod().Gpus(1)));
  for (int i = 0; i < 3; ++i) cluster.Task("j", "w", i, TaskPhase::kRunning, "n");
  CHECK(cluster.Tick(1000).decisions.empty());
  cluster.Task("j", "w", 1, TaskPhase::kFailed);
  CHECK(cluster.Tick(2000).decisions.empty());
  CHECK(cluster.Tick(60'999).decisions.empty());
  const NamedPlan plan = cluster.Tick(61'000);
  REQUIRE(plan.decisions.size() == 1);
  CHECK(plan.decisions[0].verdict == Verdict::kUnwind);
  CHECK(plan.decisions[0].evictions == std::vector<std::string>{"j/w/0", "j/w/2"});
  const Reason& reason = *plan.decisions[0].reason;
  CHECK(reason.obstacle == Obstacle::kIncomplete);
  CHECK(ReasonText({}, reason) ==
        "the gang was below its minimum for 1m: 2 tasks ran, the minimum is 3, since 1s of simulated time; 2 tasks evicted");
  CHECK(cluster.Tick(200'000).decisions.empty());
}

}  // namespace
}  // namespace tephra
