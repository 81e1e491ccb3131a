// What choosing GPUs within a node costs: a table for a new matrix, a first
// answer, and a known answer.
#include <benchmark/benchmark.h>

#include "tests/support/dice.h"
#include "tests/support/gpu_machines.h"
#include "topology/gpu_sets.h"
#include "topology/links_text.h"

namespace tephra {
namespace {

// 8: the hybrid cube mesh. 16: two of them, linked as sockets are.
NodeLinks Machine(int gpus) {
  const NodeLinks mesh = *ParseLinks(kDgx1Topo, "V100");
  NodeLinks links(gpus);
  for (int a = 0; a < gpus; ++a) {
    for (int b = 0; b < a; ++b) {
      if (a / 8 == b / 8) links.Set(a, b, mesh.at(a % 8, b % 8));
    }
    links.SetNuma(a, static_cast<std::int16_t>(a / 4));
  }
  return links;
}

void GpuSetTable(benchmark::State& state) {
  const NodeLinks links = Machine(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(GpuSets(links));
}
BENCHMARK(GpuSetTable)->Arg(8)->Arg(16)->Unit(benchmark::kMicrosecond);

// The most sets to rate: 8 of 16 GPUs that are all alike, so that none is passed over.
void GpuSetFirstAsked(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    const GpuSets sets(NodeLinks(16));
    state.ResumeTiming();
    benchmark::DoNotOptimize(sets.Best(0xffff, 8));
  }
}
BENCHMARK(GpuSetFirstAsked)->Iterations(50)->Unit(benchmark::kMicrosecond);

// Known answers in an order that no cache foresees.
void GpuSetLookUp(benchmark::State& state) {
  const int gpus = static_cast<int>(state.range(0));
  const GpuSets sets(Machine(gpus));
  Dice dice(1);
  std::vector<std::pair<GpuMask, int>> questions;
  for (int i = 0; i < 1 << 14; ++i) {
    questions.emplace_back(static_cast<GpuMask>(dice.Below(1 << gpus)), dice.From(1, gpus));
    benchmark::DoNotOptimize(sets.Best(questions.back().first, questions.back().second));
  }
  std::size_t at = 0;
  for (auto _ : state) {
    const auto& [free, k] = questions[at++ % questions.size()];
    benchmark::DoNotOptimize(sets.Best(free, k));
  }
}
BENCHMARK(GpuSetLookUp)->Arg(8)->Arg(16);

}  // namespace
}  // namespace tephra

BENCHMARK_MAIN();
