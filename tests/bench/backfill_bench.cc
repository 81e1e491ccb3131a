// How fast reservations are planned: 500 nodes of 8 GPUs, gangs of 1 to 64 whole nodes that run 10
// to 240 minutes, conservative backfilling.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/bench/cases.h"
#include "tests/support/dice.h"

namespace tephra::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNodes = 500;
constexpr DurationMs kMinuteMs = 60 * kSecondMs;

// The cluster, and the jobs that come and end on it as estimated.
class Site {
 public:
  explicit Site(std::uint64_t seed, const Pod& pod = {8000, std::int64_t{64} << 30, 8})
      : dice_(seed), pod_(pod) {
    EngineConfig config;
    config.reservations.mode = ReservationSettings::Mode::kAll;
    engine_ = std::make_unique<Engine>(Cluster(kNodes, Node{}, config));
    engine_->Tick(now_);
  }

  JobUpserted NewJob(int most_nodes = 64) {
    const int nodes = dice_.From(1, most_nodes);
    JobUpserted event = JobEvent("job-" + std::to_string(++jobs_), nodes, pod_);
    event.job.created = now_;
    event.job.estimated_runtime_ms = dice_.From(10, 240) * kMinuteMs;
    return event;
  }
  void Tell(const Event& event) { Must(engine_->Apply(event)); }
  // Returns how long the cycle took, in seconds; what it starts runs from now on.
  double Tick() {
    const auto began = Clock::now();
    const Plan plan = engine_->Tick(now_);
    const double took = std::chrono::duration<double>(Clock::now() - began).count();
    for (const Decision& decision : plan.decisions) {
      if (decision.verdict != Verdict::kStart) continue;
      const JobRow& job = engine_->state().books().jobs[decision.job.index()];
      ends_.emplace(now_ + job.estimated_runtime_ms,
                    std::pair(job.uid, static_cast<int>(decision.placements.size())));
    }
    Confirm(*engine_, plan);
    return took;
  }
  // Ends the job that is next to end, now or at the estimated time.
  void EndNext(bool in_time) {
    const auto [at, job] = *ends_.begin();
    ends_.erase(ends_.begin());
    if (in_time) now_ = at;
    for (int task = 0; task < job.second; ++task) {
      TaskUpserted fact;
      fact.version = 2;
      fact.task.uid = job.first + "/" + std::to_string(task);
      fact.task.job = job.first;
      fact.task.role = "worker";
      fact.task.index = task;
      fact.task.phase = TaskPhase::kSucceeded;
      Tell(fact);
    }
    Tell(JobRemoved{job.first});
  }
  void Pass(DurationMs time) { now_ = std::min(now_ + time, ends_.begin()->first); }
  std::size_t waiting() const { return engine_->state().books().waiting.size(); }
  std::size_t reserved() const {
    const Books& books = engine_->state().books();
    return static_cast<std::size_t>(
        std::count_if(books.waiting.begin(), books.waiting.end(),
                      [&](JobId id) { return books.jobs[id.index()].reservation->at > now_; }));
  }
  Dice& dice() { return dice_; }

 private:
  Dice dice_;
  Pod pod_;
  std::unique_ptr<Engine> engine_;
  TimeMs now_ = 0;
  int jobs_ = 0;
  std::multimap<TimeMs, std::pair<std::string, int>> ends_;
};

// 1,000 gangs come at once to an empty cluster: some start, and all other gangs get a reservation.
void PlanThousand(benchmark::State& state) {
  for (auto _ : state) {
    Site site(1);
    for (int i = 0; i < 1000; ++i) site.Tell(site.NewJob());
    state.SetIterationTime(site.Tick());
    TEPHRA_CHECK_OP(site.reserved(), ==, site.waiting());
    TEPHRA_CHECK_OP(site.reserved(), >, 900u);
  }
}
BENCHMARK(PlanThousand)->UseManualTime()->Unit(benchmark::kMillisecond);

// A full cluster with 108 pending gangs that have reservations. One job ends early, and all gangs
// are planned again.
void ReplanHundredAndEight(benchmark::State& state) {
  for (auto _ : state) {
    Site site(2);
    while (site.waiting() < 108) {
      site.Tell(site.NewJob());
      site.Tick();
    }
    site.EndNext(false);
    state.SetIterationTime(site.Tick());
    TEPHRA_CHECK_OP(site.reserved(), >, 60u);
  }
}
BENCHMARK(ReplanHundredAndEight)->UseManualTime()->Unit(benchmark::kMillisecond);

// With about 1,000 that wait, gangs come and end in time: the median cycle of 300.
void AfterOneEvent(benchmark::State& state) {
  for (auto _ : state) {
    Site site(1);
    for (int i = 0; i < 1000; ++i) site.Tell(site.NewJob());
    site.Tick();
    std::vector<double> took;
    for (int i = 0; i < 300; ++i) {
      if (i % 2 == 0) {
        site.EndNext(true);
      } else {
        site.Pass(kSecondMs);
        site.Tell(site.NewJob());
      }
      took.push_back(site.Tick());
    }
    std::nth_element(took.begin(), took.begin() + 150, took.end());
    state.SetIterationTime(took[150]);
    TEPHRA_CHECK_OP(site.reserved(), >, 800u);
  }
}
BENCHMARK(AfterOneEvent)->Iterations(3)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tephra::bench
