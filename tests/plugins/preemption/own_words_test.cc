// What tasks and jobs say of themselves about evictions.
#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

using Names = std::vector<std::string>;

PodTemplate OneGpu() { return APod().Gpus(1); }

// The task runs on node "n" and says so of itself.
TaskUpserted Runs(const std::string& job, int index, std::uint64_t version) {
  TaskFact task;
  task.uid = job + "/w/" + std::to_string(index);
  task.job = job;
  task.role = "w";
  task.index = index;
  task.phase = TaskPhase::kRunning;
  task.node = "n";
  return {task, version};
}

// Two tasks of "low" run on a node of two GPUs; `min` of them are its minimum.
SmallCluster Full(int min, const TaskUpserted& first, const TaskUpserted& second) {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(2))
      .Add(AJob("low").Role("w", 2, OneGpu()).MinMember(min).PodsExist());
  cluster.Tell(first).Tell(second).Tick();
  return cluster;
}

TEST_CASE("Protection: a task that stays is not evicted, another beyond the minimum is") {
  TaskUpserted firm = Runs("low", 1, 2);
  firm.task.preemptible = false;
  SmallCluster cluster = Full(1, Runs("low", 0, 1), firm);
  cluster.Add(AJob("high").Role("w", 1, OneGpu()).Priority(9)).Tick(1);
  CHECK(cluster.Of("high").evictions == Names{"low/w/0"});
  cluster.Add(AJob("higher").Role("w", 2, OneGpu()).Priority(10)).Tick(2);
  CHECK(cluster.Of("higher").evictions.empty());
}

TEST_CASE("Protection: a gang is not broken while one of its tasks stays") {
  TaskUpserted firm = Runs("low", 1, 2);
  firm.task.preemptible = false;
  SmallCluster cluster = Full(2, Runs("low", 0, 1), firm);
  cluster.Add(AJob("high").Role("w", 1, OneGpu()).Priority(9)).Tick(1);
  CHECK(cluster.Of("high").evictions.empty());
}

TEST_CASE("Protection: a pending job is tried again when a victim is no longer protected") {
  TaskUpserted firm = Runs("low", 1, 2);
  firm.task.preemptible = false;
  SmallCluster by_task = Full(2, Runs("low", 0, 1), firm);
  by_task.Add(AJob("high").Role("w", 1, OneGpu()).Priority(9)).Tick(1);
  CHECK(by_task.Of("high").verdict == Verdict::kWait);
  by_task.Tell(Runs("low", 1, 3)).Tick(2);
  CHECK(by_task.Of("high").evictions.size() == 2);

  SmallCluster by_job;
  AJob low = AJob("low").Role("w", 2, OneGpu()).Preemptible(false).PodsExist();
  by_job.Add(ANode("n").Gpus(2)).Add(low).Tell(Runs("low", 0, 1)).Tell(Runs("low", 1, 2));
  by_job.Add(AJob("high").Role("w", 1, OneGpu()).Priority(9)).Tick(1);
  CHECK(by_job.Of("high").verdict == Verdict::kWait);
  by_job.Add(low.Preemptible(true)).Tick(2);
  CHECK(by_job.Of("high").evictions.size() == 2);
}

TEST_CASE("Protection: of equal tasks those of lower priority go first") {
  for (const int dear : {0, 1}) {
    TaskUpserted tasks[] = {Runs("low", 0, 1), Runs("low", 1, 2)};
    tasks[dear].task.priority = 5;
    SmallCluster cluster = Full(1, tasks[0], tasks[1]);
    cluster.Add(AJob("high").Role("w", 1, OneGpu()).Priority(9)).Tick(1);
    CHECK(cluster.Of("high").evictions == Names{tasks[1 - dear].task.uid});
  }
}

TEST_CASE("Protection: no task is evicted for a job with evicts off, and equal jobs are served") {
  SmallCluster cluster = Full(1, Runs("low", 0, 1), Runs("low", 1, 2));
  JobSpec patient = AJob("patient").Role("w", 1, OneGpu()).Priority(9);
  patient.evicts = false;
  cluster.Add(patient).Tick(1);
  CHECK(cluster.Of("patient").verdict == Verdict::kWait);
  CHECK(cluster.Of("patient").evictions.empty());
  cluster.Add(AJob("urgent").Role("w", 1, OneGpu()).Priority(9)).Tick(2);
  CHECK(cluster.Of("urgent").evictions.size() == 1);
}

}  // namespace
}  // namespace tephra
