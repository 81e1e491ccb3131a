#include "simulations/sweep/run_sweep.h"

#include <catch2/catch.hpp>

#include "simulations/sweep/comparison.h"
#include "tests/simulations/sweep/made_sweep.h"

namespace tephra {
namespace {

const std::string kBase =
    "cluster: { nodes: 1, gpus_per_node: 4 }\n"
    "workload: { trace: { file: jobs.csv, node_size: 4, estimate: actual } }\n"
    "policies: { node_scores: binpack, device_scores: binpack, ties: random }\n";
const std::string kTrace =
    "id,vc,gpu,submit,dur\n1,a,3,0,100\n2,a,4,10,100\n3,a,1,20,50\n4,a,1,30,200\n5,a,2,40,5\n";

struct Fixture {
  MadeSweep made;
  std::string file;

  Fixture() {
    made.Write("base.yaml", kBase);
    made.Write("jobs.csv", kTrace);
    file = made.Write(
        "s.yaml",
        "simulation: base.yaml\nseeds: 1-2\nloads: [1, 2]\nqueues: [a, none]\n"
        "policies: { fifo: { dequeue_strategy: fifo }, easy: { backfill: { mode: easy } } }\n");
  }
  Sweep Load() const {
    auto sweep = LoadSweep(file, {});
    INFO(sweep.status().message());
    REQUIRE(sweep.ok());
    return *std::move(sweep);
  }
  SweepOutcome Run(int threads = 1, const std::string& folder = "out",
                   const std::string& program = "program 1") const {
    return RunSweep(Load(), {made.Path(folder), program, threads, nullptr});
  }
};

std::string TextOf(const Sweep& sweep, const SweepOutcome& outcome) {
  return ComparisonJson(sweep, Compare(sweep, outcome.runs));
}

TEST_CASE("RunSweep: what is there is not made again, and the number of threads shows nowhere") {
  const Fixture of;
  const SweepOutcome first = of.Run(3);
  CHECK(first.failures.empty());
  CHECK(first.made == 8);
  const SweepOutcome again = of.Run(1);
  CHECK(again.made == 0);
  CHECK(again.kept == 8);
  const SweepOutcome alone = of.Run(1, "elsewhere");
  CHECK(alone.made == 8);
  CHECK(TextOf(of.Load(), first) == TextOf(of.Load(), again));
  CHECK(TextOf(of.Load(), first) == TextOf(of.Load(), alone));
  // Job 2 waits for job 1; behind it job 3, which fits, waits only under fifo.
  const double fifo = *(*first.runs[0])[0], easy = *(*first.runs[1])[0];
  CHECK(fifo > easy);
  // All jobs are of queue a, none of the other.
  const SweepOutcome::Figures& figures = *first.runs[0];
  REQUIRE(figures.size() == Metrics().size() + 4);
  CHECK(figures[Metrics().size()] == figures[0]);
  CHECK_FALSE(figures[Metrics().size() + 2]);
}

TEST_CASE("RunSweep: a run is made again when the program, a file or the simulation changed") {
  const Fixture of;
  of.Run();
  CHECK(of.Run(1, "out", "program 2").made == 8);
  of.made.Write("jobs.csv", kTrace + "6,a,4,50,5\n");
  CHECK(of.Run(1, "out", "program 2").made == 8);
  of.made.Write("jobs.csv.queues", "0 first 4 1\n");  // of Alea's form, which it might be
  CHECK(of.Run(1, "out", "program 2").made == 8);
  of.made.Write("base.yaml", kBase + "until: 1h\n");
  CHECK(of.Run(1, "out", "program 2").made == 8);
  CHECK(of.Run(1, "out", "program 2").kept == 8);
  of.made.Write("s.yaml",
                "simulation: base.yaml\nseeds: 1-3\nloads: [1, 2]\n"
                "policies: { fifo: { dequeue_strategy: fifo }, easy: { backfill: { mode: "
                "conservative } } }\n");
  const SweepOutcome changed = of.Run(1, "out", "program 2");
  CHECK(changed.kept == 4);  // fifo of the first two seeds
  CHECK(changed.made == 8);
}

TEST_CASE("RunSweep: a run whose summary was lost is made again") {
  const Fixture of;
  of.Run();
  of.made.Write("out/fifo/2/1/summary.json", "{ \"cut\": ");
  std::filesystem::remove(of.made.Path("out/easy/1/2/inputs.txt"));
  const SweepOutcome again = of.Run();
  CHECK(again.made == 2);
  CHECK(again.kept == 6);
  CHECK(again.runs[0].has_value());
}

TEST_CASE("RunSweep: a failed run is reported by name, and the other runs continue") {
  const Fixture of;
  std::filesystem::create_directories(of.made.Path("out/easy"));
  of.made.Write("out/easy/2", "where its folder is to be");
  const SweepOutcome outcome = of.Run(2);
  CHECK(outcome.made == 6);
  REQUIRE(outcome.failures.size() == 2);
  CHECK(outcome.failures[0].rfind("easy/2/1: ", 0) == 0);
  CHECK(outcome.failures[0].find("cannot write the file") != std::string::npos);
  CHECK(outcome.failures[1].rfind("easy/2/2: ", 0) == 0);
  const std::string csv = ComparisonCsv(of.Load(), Compare(of.Load(), outcome.runs));
  CHECK(csv.find("\n2,mean_wait_s,easy,0,,,,\n") != std::string::npos);
}

TEST_CASE("RunSweep: a stopped sweep leaves the finished runs, and no part of other runs") {
  const Fixture of;
  const std::atomic<bool> stop = true;
  const SweepOutcome outcome = RunSweep(of.Load(), {of.made.Path("out"), "p", 2, &stop});
  CHECK(outcome.interrupted);
  CHECK(outcome.made == 0);
  CHECK(outcome.failures.empty());
  CHECK_FALSE(std::filesystem::exists(of.made.Path("out")));
}

}  // namespace
}  // namespace tephra
