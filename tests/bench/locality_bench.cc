// How fast gangs are placed close together, on clusters whose domains are known. Each case times
// events in and plan out.
#include <chrono>

#include <benchmark/benchmark.h>

#include "tests/bench/cases.h"

namespace tephra::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Domains of `sizes[i]` nodes each in tier i + 1, all but the lowest made of those below.
void Tell(Engine& engine, int nodes, const std::vector<int>& sizes) {
  int below = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int size = sizes[i];
    for (int first = 0, d = 0; first < nodes; first += size, ++d) {
      DomainSpec domain{"t" + std::to_string(i + 1) + "-" + std::to_string(d),
                        static_cast<std::int32_t>(i + 1),
                        "",
                        {},
                        {}};
      for (int n = first; n < std::min(nodes, first + size); n += below) {
        if (i == 0) domain.nodes.push_back(NodeEvent(n, Node{}).node.name);
        if (i > 0)
          domain.domains.push_back("t" + std::to_string(i) + "-" + std::to_string(n / below));
      }
      Must(engine.Apply(DomainUpserted{domain, 1}));
    }
    below = size;
  }
}

JobUpserted Tied(const std::string& name, int members, std::int32_t highest_tier) {
  JobUpserted event = JobEvent(name, members, Pod{64000, std::int64_t{512} << 30, 8});
  event.job.locality = {Locality::Mode::kRequired, highest_tier, ""};
  return event;
}

// 6,000 nodes with 6,000 + 3,000 + 500 + 100 domains in four tiers, every seventh node begun.
Engine Large() {
  Engine engine = Cluster(6000, Node{});
  Tell(engine, 6000, {1, 2, 12, 60});
  for (int n = 0; n < 6000; n += 7) {
    TaskUpserted pod;
    pod.version = 1;
    pod.task.uid = "pod-" + std::to_string(n);
    pod.task.phase = TaskPhase::kRunning;
    pod.task.node = NodeEvent(n, Node{}).node.name;
    pod.task.pod = JobEvent("", 1, Pod{}).job.gang.roles[0].pod;
    Must(engine.Apply(pod));
  }
  engine.Tick(0);
  return engine;
}

void OneGang(benchmark::State& state, const JobUpserted& gang, Verdict expected) {
  for (auto _ : state) {
    Engine engine = Large();
    const auto start = Clock::now();
    Must(engine.Apply(gang));
    const Plan plan = engine.Tick(1);
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
    TEPHRA_CHECK_OP(plan.decisions.size(), ==, 1u);
    TEPHRA_CHECK_OP(static_cast<int>(plan.decisions[0].verdict), ==, static_cast<int>(expected));
  }
}

// In one domain of 60 nodes.
void HyperNodesTied(benchmark::State& state) { OneGang(state, Tied("g", 48, 4), Verdict::kStart); }
BENCHMARK(HyperNodesTied)->UseManualTime()->Unit(benchmark::kMillisecond);

// Larger than any domain: in as few as can be.
void HyperNodesFree(benchmark::State& state) {
  OneGang(state, JobEvent("g", 1024, Pod{64000, std::int64_t{512} << 30, 8}), Verdict::kStart);
}
BENCHMARK(HyperNodesFree)->UseManualTime()->Unit(benchmark::kMillisecond);

// No domain would do, and the answer says so.
void HyperNodesNever(benchmark::State& state) {
  OneGang(state, Tied("g", 61, 4), Verdict::kInfeasible);
}
BENCHMARK(HyperNodesNever)->UseManualTime()->Unit(benchmark::kMillisecond);

// 32 gangs of 16 nodes, each in one of 32 racks of 16.
void GangsInRacks(benchmark::State& state) {
  for (auto _ : state) {
    Engine engine = Cluster(512, Node{});
    Tell(engine, 512, {16});
    engine.Tick(0);
    std::vector<Event> events;
    for (int i = 0; i < 32; ++i) events.emplace_back(Tied("gang-" + std::to_string(i), 16, 1));
    const auto start = Clock::now();
    for (const Event& event : events) Must(engine.Apply(event));
    const Plan plan = engine.Tick(1);
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
    TEPHRA_CHECK_OP(Placed(plan), ==, 512u);
  }
}
BENCHMARK(GangsInRacks)->UseManualTime()->Unit(benchmark::kMillisecond);

// The same as one gang of 32 groups, each of which has to be in one rack.
void GroupsInRacks(benchmark::State& state) {
  JobUpserted gang = JobEvent("gang", 512, Pod{64000, std::int64_t{512} << 30, 8});
  RoleSpec role = gang.job.gang.roles[0];
  gang.job.gang.roles.clear();
  for (int g = 0; g < 32; ++g) {
    role.name = role.group = "worker/" + std::to_string(g);
    role.replicas = role.min = 16;
    gang.job.gang.roles.push_back(role);
    gang.job.gang.groups.push_back({role.group, 16, false, {Locality::Mode::kRequired, 1, ""}});
  }
  for (auto _ : state) {
    Engine engine = Cluster(512, Node{});
    Tell(engine, 512, {16});
    engine.Tick(0);
    const auto start = Clock::now();
    Must(engine.Apply(gang));
    const Plan plan = engine.Tick(1);
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - start).count());
    TEPHRA_CHECK_OP(Placed(plan), ==, 512u);
  }
}
BENCHMARK(GroupsInRacks)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tephra::bench
