// How fast the engine decides: scores on, Verify on, one core. Each case times events in and plan
// out together, on a cluster that is already known.
#include <chrono>

#include <benchmark/benchmark.h>

#include "tests/bench/cases.h"

namespace tephra::bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// `jobs` gangs of `members`, all pending, on an empty cluster: one Tick places them all.
void Fill(benchmark::State& state, int nodes, const Node& node, int jobs, int members,
          const Pod& pod) {
  const std::vector<Event> events = Jobs(jobs, members, pod);
  for (auto _ : state) {
    Engine engine = Cluster(nodes, node);
    engine.Tick(0);
    const auto start = Clock::now();
    for (const Event& event : events) Must(engine.Apply(event));
    const Plan plan = engine.Tick(1);
    state.SetIterationTime(SecondsSince(start));
    TEPHRA_CHECK_OP(Placed(plan), ==,
                    static_cast<std::size_t>(jobs) * static_cast<std::size_t>(members));
  }
}

void FillGpu(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  Fill(state, nodes, Node{}, 8 * nodes, 1, Pod{});
}
BENCHMARK(FillGpu)->Arg(100)->Arg(500)->Arg(1000)->Arg(10000)->UseManualTime()->Unit(
    benchmark::kMillisecond);

// Jobs of one fraction each, of five sizes.
void Fractions(benchmark::State& state) {
  const DeviceRequest kSizes[] = {
      {1, 100, 8192}, {1, 250, 20480}, {1, 500, 40960}, {1, 200, 10240}, {1, 0, 5120}};
  std::vector<JobUpserted> jobs;
  for (std::size_t i = 0; i < 10000; ++i) {
    const std::string name = "job-" + std::to_string(i);
    jobs.push_back(JobEvent(name, 1, Pod{1000, std::int64_t{4} << 30, 1}));
    jobs.back().job.gang.roles[0].pod.containers[0].devices = kSizes[i % std::size(kSizes)];
  }
  for (auto _ : state) {
    Engine engine = Cluster(1000, Node{});
    engine.Tick(0);
    const auto start = Clock::now();
    for (const JobUpserted& job : jobs) Must(engine.Apply(job));
    const Plan plan = engine.Tick(1);
    state.SetIterationTime(SecondsSince(start));
    TEPHRA_CHECK_OP(Placed(plan), ==, 10000u);
  }
}
BENCHMARK(Fractions)->UseManualTime()->Unit(benchmark::kMillisecond);

constexpr Node kSmallNode{32000, std::int64_t{256} << 30, 110, 0};
constexpr Pod kSmallPod{1000, std::int64_t{4} << 30, 0};

void SmallJobs(benchmark::State& state) { Fill(state, 1000, kSmallNode, 32000, 1, kSmallPod); }
BENCHMARK(SmallJobs)->UseManualTime()->Unit(benchmark::kMillisecond);

void SmallJobsOneGang(benchmark::State& state) {
  Fill(state, 1000, kSmallNode, 1, 32000, kSmallPod);
}
BENCHMARK(SmallJobsOneGang)->UseManualTime()->Unit(benchmark::kMillisecond);

void PodsOnNodes(benchmark::State& state) {
  Fill(state, static_cast<int>(state.range(0)), kSmallNode, 10000, 1, kSmallPod);
}
BENCHMARK(PodsOnNodes)
    ->Arg(500)
    ->Arg(1000)
    ->Arg(5000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void GangOfWholeNodes(benchmark::State& state) {
  Fill(state, 512, Node{}, 1, 512, Pod{64000, std::int64_t{512} << 30, 8});
}
BENCHMARK(GangOfWholeNodes)->UseManualTime()->Unit(benchmark::kMillisecond);

// Half the GPUs of the cluster taken, unevenly; then single GPUs come and go, one event a Tick.
void OneEventOneTick(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  EngineConfig config;
  config.full_verify_every = static_cast<std::int32_t>(state.range(1));
  Engine engine = Cluster(nodes, Node{}, config);
  for (const Event& event : Jobs(nodes, 1, Pod{4000, std::int64_t{16} << 30, 4}))
    Must(engine.Apply(event));
  Confirm(engine, engine.Tick(0));
  for (int i = 0; i < 64; ++i) {  // the class is known
    Must(engine.Apply(JobEvent("warm-" + std::to_string(i), 1, Pod{})));
    Confirm(engine, engine.Tick(1));
    Must(engine.Apply(JobRemoved{"warm-" + std::to_string(i)}));
    Must(engine.Apply(TaskRemoved{"warm-" + std::to_string(i) + "/0"}));
    engine.Tick(1);
  }
  std::int64_t n = 0;
  for (auto _ : state) {
    const std::string name = "one-" + std::to_string(n++);
    const JobUpserted arrival = JobEvent(name, 1, Pod{});
    const auto start = Clock::now();
    Must(engine.Apply(arrival));
    const Plan plan = engine.Tick(n);
    state.SetIterationTime(SecondsSince(start));
    TEPHRA_CHECK_OP(Placed(plan), ==, 1u);
    Confirm(engine, plan);
    Must(engine.Apply(TaskRemoved{name + "/0"}));
    Must(engine.Apply(JobRemoved{name}));
    engine.Tick(n);
  }
}
BENCHMARK(OneEventOneTick)
    ->ArgsProduct({{100, 1000, 5000, 10000}, {0, 1000}})
    ->ArgNames({"nodes", "full_verify_every"})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

// 10,000 queues in five levels, one job waiting in each, on 100 nodes: the fair shares of all.
void FairSharesOfATree(benchmark::State& state) {
  constexpr int kQueues = 10000, kTop = 13, kHeirs = 5;
  Engine engine = Cluster(100, Node{});
  const auto name = [](int q) { return "queue-" + std::to_string(q); };
  for (int q = 0; q < kQueues; ++q) {
    QueueUpserted event{{}, 1};
    event.queue.name = name(q);
    if (q >= kTop) event.queue.parent = name((q - kTop) / kHeirs);
    event.queue.weight = 1 + q % 7;
    if (q % 3 == 0) event.queue.deserved[kGpu] = 100 * (q % 11);
    if (q % 5 == 0) event.queue.guarantee[kGpu] = 10 * (q % 7);
    Must(engine.Apply(event));
    JobUpserted job = JobEvent("job-" + std::to_string(q), 1, Pod{});
    job.job.queue = event.queue.name;
    Must(engine.Apply(job));
  }
  for (auto _ : state) benchmark::DoNotOptimize(QueueShares(engine.state().books()));
}
BENCHMARK(FairSharesOfATree)->Unit(benchmark::kMillisecond);

// 1,000 one-GPU jobs, each with a Tick of its own, from a cluster that never saw their like: the
// mean of a decision, the first look at every node included.
void BestFitDecision(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const std::vector<Event> events = Jobs(1000, 1, Pod{});
  for (auto _ : state) {
    Engine engine = Cluster(nodes, Node{});
    engine.Tick(0);
    TimeMs now = 0;
    const auto start = Clock::now();
    for (const Event& event : events) {
      Must(engine.Apply(event));
      TEPHRA_CHECK_OP(Placed(engine.Tick(++now)), ==, 1u);
    }
    state.SetIterationTime(SecondsSince(start) / 1000);
  }
}
BENCHMARK(BestFitDecision)
    ->Arg(1000)
    ->Arg(5000)
    ->Iterations(3)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

// 1,000 full nodes of one CPU but for one: a job of a known class finds it.
void OnlyOneNodeFits(benchmark::State& state) {
  const Node node{1000, std::int64_t{8} << 30, 110, 0};
  Engine engine = Cluster(1000, node);
  for (const Event& event : Jobs(999, 1, kSmallPod)) Must(engine.Apply(event));
  Confirm(engine, engine.Tick(0));
  std::int64_t n = 0;
  for (auto _ : state) {
    const std::string name = "one-" + std::to_string(n++);
    const JobUpserted arrival = JobEvent(name, 1, kSmallPod);
    const auto start = Clock::now();
    Must(engine.Apply(arrival));
    const Plan plan = engine.Tick(n);
    state.SetIterationTime(SecondsSince(start));
    TEPHRA_CHECK_OP(Placed(plan), ==, 1u);
    Must(engine.Apply(JobRemoved{name}));
    engine.Tick(n);
  }
}
BENCHMARK(OnlyOneNodeFits)->UseManualTime()->Unit(benchmark::kMicrosecond);

// 40,000 running tasks and 1,000 gangs, of 128 shapes, that find no room.
Engine FullCluster() {
  Engine engine = Cluster(5000, Node{});
  for (const Event& event : Jobs(40000, 1, Pod{})) Must(engine.Apply(event));
  Confirm(engine, engine.Tick(0));
  for (int i = 0; i < 1000; ++i) {
    Must(engine.Apply(JobEvent("waiting-" + std::to_string(i), 4 + i % 16,
                               Pod{8000, std::int64_t{64} << 30, 1 + i % 8})));
  }
  TEPHRA_CHECK_OP(engine.Tick(1).decisions.size(), ==, 1000u);
  return engine;
}

// A full cluster with many waiting, and only the time moves.
void OnlyTimeMoved(benchmark::State& state) {
  Engine engine = FullCluster();
  TimeMs now = 1;
  for (auto _ : state) {
    const auto start = Clock::now();
    const Plan plan = engine.Tick(++now);
    state.SetIterationTime(SecondsSince(start));
    TEPHRA_CHECK_OP(plan.decisions.size(), ==, 0u);
  }
}
BENCHMARK(OnlyTimeMoved)->UseManualTime()->Unit(benchmark::kMicrosecond);

// The same cluster, and one task ends: every waiting gang is asked again.
void OneTaskEnded(benchmark::State& state) {
  Engine engine = FullCluster();
  TimeMs now = 1;
  int ended = 0;
  for (auto _ : state) {
    const TaskRemoved gone{"job-" + std::to_string(ended) + "/0"};
    Must(engine.Apply(JobRemoved{"job-" + std::to_string(ended++)}));
    const auto start = Clock::now();
    Must(engine.Apply(gone));
    engine.Tick(++now);
    state.SetIterationTime(SecondsSince(start));
  }
}
BENCHMARK(OneTaskEnded)->Iterations(50)->UseManualTime()->Unit(benchmark::kMicrosecond);

// --- evictions: `nodes` x 8 GPUs, all taken by one-GPU jobs of queue-0 --------------------------

Engine Lent(int nodes, std::int64_t deserved_0, std::int64_t deserved_1) {
  Engine engine = Cluster(nodes, Node{});
  Must(engine.Apply(QueueEvent("queue-0", deserved_0)));
  Must(engine.Apply(QueueEvent("queue-1", deserved_1)));
  for (int i = 0; i < 8 * nodes; ++i) {
    Must(engine.Apply(JobOf("queue-0", "lent-" + std::to_string(i), 1, Pod{})));
  }
  Confirm(engine, engine.Tick(0));
  return engine;
}

// As many one-GPU jobs of queue-1, which deserves all, until they all run. Those evicted come back
// and wait.
void ReclaimManySmall(benchmark::State& state) {
  constexpr int kNodes = 500;
  constexpr std::size_t kJobs = 8 * kNodes;
  std::vector<Event> arrivals;
  for (std::size_t i = 0; i < kJobs; ++i) {
    arrivals.push_back(JobOf("queue-1", "owner-" + std::to_string(i), 1, Pod{}));
  }
  double cycles = 0;
  for (auto _ : state) {
    Engine engine = Lent(kNodes, 0, kJobs);
    std::vector<Event> events = arrivals;
    std::size_t started = 0;
    double took = 0;
    TimeMs now = 0;
    for (cycles = 0; started < kJobs && cycles < 100; ++cycles) {
      const auto start = Clock::now();
      for (const Event& event : events) Must(engine.Apply(event));
      const Plan plan = engine.Tick(++now);
      took += SecondsSince(start);
      for (const Decision& decision : plan.decisions) {
        if (decision.verdict == Verdict::kStart) started += decision.placements.size();
      }
      events = Departures(engine, plan);
      Confirm(engine, plan);
    }
    TEPHRA_CHECK_OP(started, ==, kJobs);
    TEPHRA_CHECK(Departures(engine, engine.Tick(++now)).empty());
    state.SetIterationTime(took);
  }
  state.counters["cycles"] = cycles;
}
BENCHMARK(ReclaimManySmall)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);

// One gang of half the nodes, whole: half of what runs has to go, and not one more.
void ReclaimLargeGang(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const Event arrival =
      JobOf("queue-1", "owner", nodes / 2, Pod{32000, std::int64_t{128} << 30, 8});
  for (auto _ : state) {
    Engine engine = Lent(nodes, 0, 8 * nodes);
    const auto start = Clock::now();
    Must(engine.Apply(arrival));
    const Plan plan = engine.Tick(1);
    state.SetIterationTime(SecondsSince(start));
    TEPHRA_CHECK_OP(plan.decisions.size(), ==, 1u);
    TEPHRA_CHECK_OP(plan.decisions[0].evictions.size(), ==, static_cast<std::size_t>(4 * nodes));
    TEPHRA_CHECK(plan.decisions[0].reason->fewest);
    for (const Event& event : Departures(engine, plan)) Must(engine.Apply(event));
    TEPHRA_CHECK_OP(Placed(engine.Tick(2)), ==, static_cast<std::size_t>(nodes / 2));
  }
}
BENCHMARK(ReclaimLargeGang)
    ->Arg(100)
    ->Arg(200)
    ->Arg(500)
    ->Arg(1000)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// A gang of ten whole nodes that cannot be helped.
void Unhelped(benchmark::State& state, Engine& engine, Remedy remedy) {
  TimeMs now = 1;
  for (auto _ : state) {
    const auto start = Clock::now();
    Must(engine.Apply(JobOf("queue-1", "owner", 10, Pod{32000, std::int64_t{128} << 30, 8})));
    const Plan plan = engine.Tick(++now);
    state.SetIterationTime(SecondsSince(start));
    TEPHRA_CHECK_OP(plan.decisions.size(), ==, 1u);
    TEPHRA_CHECK(plan.decisions[0].evictions.empty());
    TEPHRA_CHECK(plan.decisions[0].reason->remedy == remedy);
    Must(engine.Apply(JobRemoved{"owner"}));
    engine.Tick(++now);
  }
}

// Its queue deserves one GPU too few.
void ImpossibleGang(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  Engine engine = Lent(nodes, 8 * nodes - 79, 79);
  Unhelped(state, engine, Remedy::kOverShare);
}
BENCHMARK(ImpossibleGang)->Arg(200)->Arg(1000)->UseManualTime()->Unit(benchmark::kMillisecond);

// On all nodes but nine runs one job that may not be evicted.
void ImpossibleGangFirm(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  Engine engine = Lent(nodes, 8 * nodes - 80, 80);
  std::vector<JobUpserted> firm;
  const Books& books = engine.state().books();
  std::vector<bool> seen(books.hardware.slots());
  for (const TaskRow& task : books.tasks) {
    if (static_cast<int>(firm.size()) == nodes - 9) break;
    if (task.phase != TaskPhase::kRunning || seen[task.node.index()]) continue;
    seen[task.node.index()] = true;
    firm.push_back(JobOf("queue-0", books.jobs[task.job.index()].name, 1, Pod{}));
    firm.back().job.preemptible = false;
    firm.back().version = 2;
  }
  TEPHRA_CHECK_OP(static_cast<int>(firm.size()), ==, nodes - 9);
  for (const JobUpserted& job : firm) Must(engine.Apply(job));
  engine.Tick(1);
  Unhelped(state, engine, Remedy::kImpossible);
}
BENCHMARK(ImpossibleGangFirm)->Arg(200)->Arg(1000)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tephra::bench

BENCHMARK_MAIN();
