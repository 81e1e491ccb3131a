#include "simulations/sweep/sweep_file.h"

#include <catch2/catch.hpp>

#include "simulations/workload/simulation_file.h"
#include "tests/simulations/sweep/made_sweep.h"

namespace tephra {
namespace {

const std::string kMade =
    "cluster: { nodes: 2, gpus_per_node: 8 }\n"
    "workload: { generate: { jobs: 5, mean_interarrival: 1m, gpus: [{ gpus: 1 }], mean_runtime: 1h "
    "} }\n"
    "failures: { nodes: { mtbf: 10d, mttr: 1h } }\n"
    "policies: { job_order: sjf, backfill: { predict: none } }\n";
const std::string kListed =
    "cluster: { nodes: 1, gpus_per_node: 8 }\njobs: [{ name: j, gpus: 1, runtime: 1s }]\n";

std::string Fault(const std::string& sweep, const std::string& base = kMade) {
  const MadeSweep made;
  made.Write("base.yaml", base);
  const auto read = LoadSweep(made.Write("s.yaml", "simulation: base.yaml\n" + sweep), {});
  if (read.ok()) return "";
  const std::string message(read.status().message());
  const std::string folder = made.Path("");
  return message.rfind(folder, 0) == 0 ? message.substr(folder.size()) : message;
}

TEST_CASE("Sweep: several sweeps use the policies of one file, and its faults are its own") {
  const MadeSweep made;
  made.Write("base.yaml", kMade);
  made.Write("p.yaml", "plain: { backfill: { mode: none } }\ndefault:\n");
  const std::string file = made.Write("s.yaml", "simulation: base.yaml\npolicies: p.yaml\n");
  const auto sweep = LoadSweep(file, {});
  REQUIRE(sweep.ok());
  REQUIRE(sweep->policies.size() == 2);
  CHECK(sweep->policies[0].name == "plain");
  made.Write("p.yaml", "plain:\n  backfill: { mode: eager }\n");
  CHECK(LoadSweep(file, {}).status().message() ==
        made.Path("p.yaml") + ":2: plain.backfill.mode: \"eager\", expected none, easy or conservative");
  made.Write("p.yaml", "[]\n");
  CHECK(LoadSweep(file, {}).status().message().find(made.Path("p.yaml") + ":1: ") == 0);
  CHECK(Fault("policies: missing.yaml\n").find("missing.yaml") != std::string::npos);
}

TEST_CASE("Sweep: a run is the simulation with the policy laid over it, its load and its seed") {
  const MadeSweep made;
  made.Write("base.yaml", kMade);
  const auto sweep =
      LoadSweep(made.Write("s.yaml",
                           "simulation: base.yaml\n"
                           "policies:\n"
                           "  plain: { backfill: { mode: none } }\n"
                           "  easy: { backfill: { mode: easy }, dequeue_strategy: fifo }\n"
                           "baseline: easy\n"
                           "seeds: [2-3, 9]\n"
                           "loads: [0.5, 1.25]\n"
                           "large_gangs: { gpus: 4 }\n"),
                {});
  INFO(sweep.status().message());
  REQUIRE(sweep.ok());
  CHECK(sweep->baseline == 1);
  CHECK(sweep->seeds == std::vector<std::uint64_t>{2, 3, 9});
  const std::vector<SweepRun> runs = RunsOf(*sweep);
  REQUIRE(runs.size() == 12);
  CHECK(NameOf(*sweep, runs[0]) == "plain/0.5/2");
  CHECK(NameOf(*sweep, runs[3]) == "easy/1.25/2");
  const auto last = LoadSimulation(sweep->simulation, DocumentOf(*sweep, runs[11]));
  REQUIRE(last.ok());
  CHECK(last->config.reservations.mode == ReservationSettings::Mode::kFirst);
  CHECK(last->config.reservations.predict == RunPrediction::kNone);  // the simulation's own
  CHECK(last->config.job_order == JobOrder::kEstimatedRuntime);
  CHECK(last->dequeue == Dequeue::kFifo);
  CHECK(last->config.seed == 9);
  CHECK(last->failures.seed == 9);
  CHECK(last->trace->model->seed == 9);
  CHECK(last->trace->load == 1250);
  CHECK(last->outputs.large->gpus == 4);
  CHECK_FALSE(last->outputs.jobs);
  const auto first = LoadSimulation(sweep->simulation, DocumentOf(*sweep, runs[0]));
  REQUIRE(first.ok());
  CHECK(first->config.reservations.mode == ReservationSettings::Mode::kNone);
  CHECK(first->trace->load == 500);
  CHECK(first->trace->model->seed == 2);
}

TEST_CASE("Sweep: without seeds and loads there is one of each, and --files keeps all files") {
  const MadeSweep made;
  made.Write("base.yaml", kListed);
  const auto sweep =
      LoadSweep(made.Write("s.yaml", "simulation: base.yaml\npolicies: { a: , b: { seed: 4 } }\n"),
                {std::nullopt, true});
  REQUIRE(sweep.ok());
  CHECK(sweep->seeds == std::vector<std::uint64_t>{1});
  CHECK(sweep->loads == std::vector<std::int64_t>{1000});
  CHECK(sweep->metrics.size() == Metrics().size());
  const auto run = LoadSimulation(sweep->simulation, DocumentOf(*sweep, {1, 0, 0}));
  REQUIRE(run.ok());
  CHECK(run->config.seed == 1);  // the sweep's, in every policy
  CHECK(run->outputs.jobs);
}

TEST_CASE("Sweep: --trace stands for the trace of the simulation, which must have one") {
  const MadeSweep made;
  made.Write("base.yaml",
             "cluster: { nodes: 1, gpus_per_node: 8 }\nworkload: { trace: { file: none.csv } }\n");
  const std::string file = made.Write("s.yaml", "simulation: base.yaml\npolicies: { a: }\n");
  CHECK_FALSE(LoadSweep(file, {}).ok());
  const std::string trace = made.Write("real.csv", "id,vc,gpu,submit,dur\n1,a,1,0,9\n");
  const auto sweep = LoadSweep(file, {trace, false});
  INFO(sweep.status().message());
  REQUIRE(sweep.ok());
  CHECK(LoadSimulation(sweep->simulation, DocumentOf(*sweep, {0, 0, 0}))->trace->path == trace);
  CHECK_FALSE(LoadSweep(file, {"", false}).ok());
  made.Write("base.yaml", kListed);
  CHECK(LoadSweep(file, {trace, false}).status().message().find("workload.trace: missing") !=
        std::string::npos);
}

TEST_CASE("Sweep: what is wrong names file, line, field, value and what was expected") {
  CHECK(Fault("policies: { a: }\n") == "");
  CHECK(Fault("policies:\n  a:\n    backfill: { mode: eager }\n") ==
        "s.yaml:4: policies.a.backfill.mode: \"eager\", expected none, easy or conservative");
  CHECK(Fault("policies: { a: { sead: 3 } }\n")
            .find("s.yaml:2: policies.a: \"sead\", expected one of") == 0);
  CHECK(Fault("policies: { a: { node_scores: none } }\n").find("s.yaml:2: ") == 0);
  CHECK(Fault("policies: { a/b: }\n").find("s.yaml:2: policies: \"a/b\", expected a name") == 0);
  CHECK(Fault("policies: { }\n").find("expected at least one policy") != std::string::npos);
  CHECK(Fault("policies: { a: }\nbaseline: b\n") == "s.yaml:3: baseline: \"b\", expected a");
  CHECK(Fault("policies: { a: }\nseeds: [1, 5-2]\n").find("s.yaml:3: seeds[1]: \"5-2\"") == 0);
  CHECK(Fault("policies: { a: }\nseeds: [1-3, 2]\n").find("expected each value only once") !=
        std::string::npos);
  CHECK(Fault("policies: { a: }\nloads: [0]\n").find("s.yaml:3: loads[0]: \"0\"") == 0);
  CHECK(Fault("policies: { a: }\nloads: 2\n", kListed)
            .find("s.yaml:3: loads: \"2\", expected no loads") == 0);
  CHECK(Fault("policies: { a: }\nseeds: [1-9000, 9001-10001]\n")
            .find("s.yaml:3: seeds[1]: \"9001-10001\", expected at most 10000 seeds") == 0);
  std::string loads;
  for (int i = 1; i <= 1001; ++i) loads += "," + std::to_string(i) + "m";
  CHECK(Fault("policies: { a: }\nloads: [" + loads.substr(1) + "]\n")
            .find("s.yaml:3: loads[1000]: \"1001m\", expected at most 1000 loads") == 0);
  CHECK(Fault("policies: { a: , b: }\nseeds: 1-10000\nloads: [" +
              loads.substr(1, loads.size() - 8) + "]\n")
            .find("expected at most 1000000 runs") != std::string::npos);
  CHECK(Fault("policies: { a: }\nmetrics: [wait]\n").find("s.yaml:3: metrics[0]: \"wait\"") == 0);
  CHECK(Fault("policies: { a: }\nlarge_gangs: { gpus: 0 }\n").find("s.yaml:3: large_gangs.gpus") ==
        0);
  CHECK(Fault("policy: { a: }\n").find("policies: \"\", expected this field") != std::string::npos);
  CHECK(Fault("policies: { a: }\n", "cluster: { nods: 1 }\n").find("base.yaml:1: ") == 0);
  CHECK(Fault("policies: { a: }\n", kListed + "policies: { seed: x }\n").find("base.yaml:3: ") ==
        0);
}

}  // namespace
}  // namespace tephra
