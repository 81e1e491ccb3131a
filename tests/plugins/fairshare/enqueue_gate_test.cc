#include "plugins/fairshare/enqueue_gate.h"

#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

EngineConfig Gated(std::int32_t permille = 1200) {
  EngineConfig config;
  config.enqueue_gate = EnqueueGate::kVolcano;
  config.overcommit_permille = permille;
  return config;
}

JobSpec Gang(const std::string& name, int tasks, const std::string& queue = "default") {
  return AJob(name).In(queue).Role("w", tasks, APod().Gpus(1));
}

TEST_CASE("Real capability: the limit, and no more than one above leaves beside guarantees") {
  QueueTree queues;
  const auto add = [&](const QueueSpec& queue) { REQUIRE(queues.Upsert(queue).ok()); };
  // The child before its parent: the order does not matter.
  add(AQueue("left").Under("top").Guarantee(kGpu, 3000));
  add(AQueue("top").Limit(kGpu, 8000));
  add(AQueue("right").Under("top").Limit(kGpu, 2000));
  add(AQueue("deep").Under("left").Limit(kCpu, 500));
  add(AQueue("free"));
  const std::vector<Resources> most = RealCapabilities(queues);
  const auto of = [&](const char* name, Kind k) { return most[queues.Find(name).index()][k]; };
  CHECK(of("top", kGpu) == 8000);
  CHECK(of("left", kGpu) == 8000);   // 8 - 3 + 3
  CHECK(of("right", kGpu) == 2000);  // less than 8 - 3
  CHECK(of("deep", kGpu) == 8000);
  CHECK(of("deep", kCpu) == 500);
  CHECK(of("free", kGpu) == kMaxSum);
  // Guaranteed more than there is: nothing is left beside it.
  add(AQueue("left").Under("top").Guarantee(kGpu, 9000));
  CHECK(RealCapabilities(queues)[queues.Find("right").index()][kGpu] == 0);
}

TEST_CASE("The gate: parents that form a cycle end nothing") {
  SmallCluster cluster(Gated());
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("x").Under("y")).Add(AQueue("y").Under("x"));
  cluster.Add(Gang("j", 1, "x")).Add(Gang("k", 1)).Tick();
  CHECK(cluster.Of("j").reason->obstacle == Obstacle::kQueueCycle);
  CHECK(cluster.Started("k"));
}

TEST_CASE("The gate: the first jobs of a cycle are admitted, started or not") {
  SmallCluster cluster(Gated(1500));
  cluster.Add(ANode("a").Gpus(4));
  cluster.Add(AJob("first").Priority(3).Role("w", 3, APod().Gpus(1)));
  cluster.Add(AJob("second").Priority(2).Role("w", 3, APod().Gpus(1)));
  cluster.Add(AJob("third").Priority(1).Role("w", 1, APod().Gpus(1)));
  cluster.Tick();
  CHECK(cluster.Started("first"));
  CHECK(cluster.Of("second").reason->obstacle == Obstacle::kRoom);
  CHECK(cluster.Why("third") ==
        "enqueue gate: the cluster allows 6 GPUs with overcommitment; 0 GPUs in use; admitted jobs "
        "need 6 GPUs more; this job needs 1 GPU");
}

TEST_CASE("The gate: foreign pods are used, and belong to no queue") {
  SmallCluster cluster(Gated(1000));
  cluster.Add(ANode("a").Gpus(4)).Add(AQueue("q").Limit(kGpu, 4000));
  cluster.Foreign("f", "a", APod().Gpus(2), {WholeSlice(0), WholeSlice(1)});
  cluster.Add(Gang("j", 3, "q")).Tick();
  CHECK(cluster.Of("j").reason->queue.empty());
  CHECK(cluster.Of("j").reason->used == 2000);
  cluster.Gone("f").Tick();
  CHECK(cluster.Started("j"));
}

TEST_CASE("The gate: only kinds that a job asks for keep it out") {
  SmallCluster cluster(Gated(1000));
  cluster.Add(ANode("a").Gpus(4)).Add(AQueue("q").Limit(kGpu, 0));
  cluster.Add(AJob("j").In("q").Role("w", 1, APod().Cores(4))).Tick();
  CHECK(cluster.Started("j"));
}

TEST_CASE("The gate: a gang without a minimum asks for nothing, and is in") {
  SmallCluster cluster(Gated(1000));
  cluster.Add(ANode("a").Gpus(1)).Add(Gang("runs", 1)).Tick();
  cluster.Add(AJob("j").Role("w", 2, APod().Gpus(1)).MinMember(0)).Tick();
  CHECK(cluster.job("j").satisfied());
  CHECK(cluster.job("j").standing.reason->obstacle != Obstacle::kGate);
}

TEST_CASE("The gate: tasks that have ended well are no claim any more") {
  SmallCluster cluster(Gated());
  cluster.Add(ANode("a").Gpus(4)).Add(AQueue("q").Limit(kGpu, 4000));
  cluster.Add(Gang("old", 4, "q")).Tick();
  cluster.Confirm().Add(Gang("new", 2, "q")).Tick();
  CHECK(cluster.Of("new").reason->obstacle == Obstacle::kGate);
  CHECK(cluster.Of("new").reason->used == 4000);
  for (int i = 0; i < 2; ++i) cluster.Task("old", "w", i, TaskPhase::kSucceeded, "a");
  cluster.Tick();
  CHECK(cluster.Started("new"));
}

TEST_CASE("The gate: a job that moves takes its claim with it") {
  SmallCluster cluster(Gated(2000));
  cluster.Add(ANode("a").Gpus(4));
  cluster.Add(AQueue("p").Limit(kGpu, 4000)).Add(AQueue("q").Limit(kGpu, 4000));
  cluster.Add(Gang("runs", 2, "p")).Tick();
  cluster.Confirm().Add(Gang("waits", 3, "p")).Tick();
  CHECK(cluster.Of("waits").reason->queue == "p");
  cluster.Add(Gang("runs", 2, "q")).Tick();
  CHECK(cluster.Of("waits").reason->obstacle == Obstacle::kRoom);
  CHECK(cluster.engine().state().CheckBooks() == "");
}

TEST_CASE(
    "The gate: turned on, it counts pending jobs as admitted; turned off, all jobs are admitted") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(4)).Add(Gang("runs", 4)).Tick();
  cluster.Confirm().Add(Gang("waits", 4)).Tick();
  cluster.Tell(ConfigChanged{Gated(1000)}).Add(Gang("late", 1)).Tick();
  CHECK(cluster.Of("waits").reason->obstacle == Obstacle::kRoom);
  CHECK(cluster.Of("late").reason->kept == 4000);
  CHECK(cluster.engine().state().CheckBooks() == "");
  cluster.Tell(ConfigChanged{EngineConfig{}}).Tick();
  CHECK(cluster.Of("late").reason->obstacle == Obstacle::kRoom);
  CHECK(cluster.engine().state().CheckBooks() == "");
}

TEST_CASE("The gate: amounts as large as they may be do not overflow") {
  SmallCluster cluster(Gated(1'000'000));
  cluster.Add(ANode("a").Has(kMemory, kMaxAmount));
  cluster.Add(AJob("j").Role("w", 1, APod().Memory(kMaxAmount))).Tick();
  CHECK(cluster.Started("j"));
}

TEST_CASE("The engine refuses an overcommitment below 1 or beyond 1000") {
  Engine engine(DefaultAssembly());
  for (const auto& [wrong, shown] : std::vector<std::pair<std::int32_t, std::string>>{
           {999, "0.999"}, {0, "0"}, {-1, "-0.001"}, {1'000'001, "1000.001"}}) {
    const absl::Status status = engine.Apply(ConfigChanged{Gated(wrong)});
    CHECK(status.message() ==
          "overcommit_factor: " + shown + ", expected a number from 1 to 1000");
  }
}

}  // namespace
}  // namespace tephra
