#include "plugins/fairshare/queue_limits.h"

#include <catch2/catch.hpp>

#include "plugins/fairshare/fair_order.h"
#include "tests/support/frozen.h"

namespace tephra {
namespace {

Resources Of(Kind kind, std::int64_t amount) {
  Resources resources;
  resources[kind] = amount;
  return resources;
}

struct Bench {
  Frozen cluster;
  QueueLimits limits;

  std::optional<Reason> Deny(const std::string& job, const Resources& extra,
                             const Resources& tried = {}) {
    const Snapshot snapshot = cluster.state().Freeze(0);
    Ledger ledger(Ledger::Basis::kNow);
    ledger.Begin(snapshot);
    return limits.Deny(ledger, cluster.state().FindJob(job), extra, tried);
  }
};

TEST_CASE("QueueLimits: up to the limit and not beyond, in the kinds that are limited") {
  Bench bench;
  bench.cluster.Add(AQueue("q").Limit(kGpu, 4000)).Add(AJob("j").In("q").Role("w", 1, APod()));
  CHECK_FALSE(bench.Deny("j", Of(kGpu, 4000)));
  CHECK(bench.Deny("j", Of(kGpu, 4001)));
  CHECK_FALSE(bench.Deny("j", Of(kCpu, 1 << 30)));
  const Reason reason = *bench.Deny("j", Of(kGpu, 5000));
  CHECK(reason.obstacle == Obstacle::kQueueLimit);
  CHECK(reason.queue == "q");
  CHECK(reason.limit == 4000);
  CHECK(reason.used == 0);
  CHECK(reason.asked == 5000);
}

TEST_CASE("QueueLimits: the queue above that binds is the one named") {
  Bench bench;
  bench.cluster.Add(AQueue("top").Limit(kGpu, 1000)).Add(AQueue("mid").Under("top"));
  bench.cluster.Add(AQueue("q").Under("mid").Limit(kGpu, 8000));
  bench.cluster.Add(AJob("j").In("q").Role("w", 1, APod()));
  CHECK(bench.Deny("j", Of(kGpu, 2000))->queue == "top");
  CHECK_FALSE(bench.Deny("j", Of(kGpu, 1000)));
}

TEST_CASE("QueueLimits: missing and closed queues differ, and come before limits") {
  Bench bench;
  bench.cluster.Add(AQueue("closed").State(QueueState::kClosed).Limit(kGpu, 0));
  bench.cluster.Add(AQueue("closing").State(QueueState::kClosing));
  bench.cluster.Add(AJob("a").In("closed").Role("w", 1, APod()));
  bench.cluster.Add(AJob("b").In("closing").Role("w", 1, APod()));
  bench.cluster.Add(AJob("c").In("none").Role("w", 1, APod()));
  CHECK(bench.Deny("a", Of(kGpu, 1))->obstacle == Obstacle::kQueueClosed);
  CHECK(bench.Deny("b", {})->obstacle == Obstacle::kQueueClosed);
  CHECK(bench.Deny("c", {})->obstacle == Obstacle::kQueueMissing);
  CHECK(bench.Deny("c", {})->queue == "none");
}

TEST_CASE("QueueLimits: over its limit already, a queue denies only more of the same") {
  Bench bench;
  bench.cluster.Add(AQueue("q")).Add(ANode("n").Gpus(4));
  bench.cluster.Add(AJob("j").In("q").Role("w", 1, APod().Gpus(2)));
  TaskFact fact;
  fact.uid = "p", fact.job = "j", fact.role = "w", fact.phase = TaskPhase::kRunning,
  fact.node = "n";
  bench.cluster.Tell(TaskUpserted{fact, 1}).Add(AQueue("q").Limit(kGpu, 1000));
  CHECK_FALSE(bench.Deny("j", Of(kCpu, 1000)));
  CHECK(bench.Deny("j", Of(kGpu, 1)));
}

TEST_CASE("QueueLimits: one pod that is not preemptible counts all that its job holds") {
  Bench bench;
  bench.cluster.Add(AQueue("q").Deserved(kGpu, 3000)).Add(ANode("n").Gpus(8));
  bench.cluster.Add(AJob("half").In("q").Role("w", 2, APod().Gpus(1)));
  bench.cluster.Add(AJob("fixed").In("q").Preemptible(false).Role("w", 1, APod()));
  std::uint64_t version = 0;
  const auto runs = [&](std::int32_t index, bool preemptible) {
    TaskFact fact;
    fact.uid = "p" + std::to_string(index), fact.job = "half", fact.role = "w", fact.index = index;
    fact.phase = TaskPhase::kRunning, fact.node = "n", fact.preemptible = preemptible;
    bench.cluster.Tell(TaskUpserted{fact, ++version});
    REQUIRE(bench.cluster.state().CheckBooks() == "");
  };
  runs(0, true);
  runs(1, true);
  CHECK_FALSE(bench.Deny("fixed", Of(kGpu, 3000)));
  runs(1, false);
  CHECK_FALSE(bench.Deny("fixed", Of(kGpu, 1000)));
  const Reason reason = *bench.Deny("fixed", Of(kGpu, 2000));
  CHECK(reason.obstacle == Obstacle::kQueueDeserved);
  CHECK(reason.limit == 3000);
  CHECK(reason.used == 2000);
  CHECK(reason.asked == 2000);
  CHECK_FALSE(bench.Deny("half", Of(kGpu, 1000)));
  CHECK(bench.Deny("half", Of(kGpu, 1001)));
  runs(1, true);
  CHECK_FALSE(bench.Deny("fixed", Of(kGpu, 3000)));
  runs(1, false);
  bench.cluster.Tell(TaskRemoved{"p1"});
  CHECK(bench.cluster.state().CheckBooks() == "");
  CHECK_FALSE(bench.Deny("fixed", Of(kGpu, 3000)));
}

TEST_CASE("QueueLimits: what was charged on trial is judged like what would be charged") {
  Bench bench;
  bench.cluster.Add(AQueue("q").Limit(kGpu, 3000)).Add(ANode("n").Gpus(4));
  bench.cluster.Add(AJob("j").In("q").Role("w", 1, APod().Gpus(4)));
  const Snapshot snapshot = bench.cluster.state().Freeze(0);
  Ledger ledger(Ledger::Basis::kNow);
  ledger.Begin(snapshot);
  const JobRow& job = snapshot.job(JobId(0));
  ledger.Charge(job.roles[0].cls, job.queue,
                {job.roles[0].tasks[0],
                 snapshot.hardware().Find("n"),
                 {WholeSlice(0), WholeSlice(1), WholeSlice(2), WholeSlice(3)}});
  CHECK_FALSE(bench.limits.Deny(ledger, JobId(0), {}, {}));  // nothing of it is this job's doing
  const auto reason = bench.limits.Deny(ledger, JobId(0), {}, Of(kGpu, 4000));
  REQUIRE(reason);
  CHECK(reason->used == 0);
  CHECK(reason->asked == 4000);
}

TEST_CASE("FairOrder: in a queue priority, then age, then uid") {
  Frozen cluster;
  cluster.Add(AJob("d").Priority(1).Created(5)).Add(AJob("c").Created(5)).Add(AJob("b").Created(5));
  cluster.Add(AJob("a").Created(9));
  REQUIRE(cluster.applied_ok());
  const JobId d(0), c(1), b(2), a(3);
  const Snapshot snapshot = cluster.state().Freeze(0);
  std::vector<JobId> jobs = {a, b, c, d};
  std::sort(jobs.begin(), jobs.end(),
            [&](JobId x, JobId y) { return FairOrder().Before(snapshot, x, y); });
  CHECK(jobs == std::vector<JobId>{d, b, c, a});
}

TEST_CASE("QueueLimits: where nodes are over-committed nothing is said to be free, not less") {
  Bench bench;
  bench.cluster.Add(ANode("n").Cores(4)).Foreign("n", APod().Cores(9));
  bench.cluster.Add(AQueue("kept").Guarantee(kCpu, 2000)).Add(AQueue("q"));
  bench.cluster.Add(AJob("j").In("q").Role("w", 1, APod()));
  const Reason reason = *bench.Deny("j", Of(kCpu, 1000));
  CHECK(reason.obstacle == Obstacle::kQueueGuarantee);
  CHECK(reason.limit == 0);
}

}  // namespace
}  // namespace tephra
