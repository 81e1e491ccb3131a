// The Verifier catches each kind of bad decision.
#include <catch2/catch.hpp>

#include "tests/engine/verify_bench.h"

namespace tephra {
namespace {

TEST_CASE("Verifier: a sound decision passes") {
  Bench bench;
  bench.Add(AJob("j").In("q").Role("w", 2, APod().Gpus(1).Cores(4)));
  CHECK(bench.CheckOne(
            bench.Start("j", {bench.On("n", bench.task("j", 0), {WholeSlice(0, 16000)}),
                              bench.On("n", bench.task("j", 1), {WholeSlice(1, 16000)})})) == "");
}

TEST_CASE("Verifier: CPU over-committed") {
  Bench bench;
  bench.Add(AJob("j").Role("w", 2, APod().Cores(5)));
  Says(bench.CheckOne(bench.Start(
           "j", {bench.On("n", bench.task("j", 0)), bench.On("n", bench.task("j", 1))})),
       "cpu 5000 of 3000");
}

TEST_CASE("Verifier: a queue over its limit of one GPU model, whatever the job names") {
  Bench bench;
  bench.Tell(KindsDeclared{{"gpu.A"}});
  bench.Tell(QueueUpserted{AQueue("l").Limit(kFirstExtendedKind, 1500), 1});
  bench.Tell(NodeUpserted{ANode("h").Cores(8).Gpus(4, "H", 16000), 1});
  bench.Add(AJob("any").In("l").Role("w", 2, APod().Gpus(1)));
  const auto on = [&](const char* first, const char* second) {
    return bench.CheckOne(
        bench.Start("any", {bench.On(first, bench.task("any", 0), {WholeSlice(0, 16000)}),
                            bench.On(second, bench.task("any", 1), {WholeSlice(1, 16000)})}));
  };
  Says(on("n", "n"), "queue l would hold gpu.A 2000 of 1500");
  CHECK(on("n", "h") == "");
}

TEST_CASE("Verifier: what is kept of one GPU model is not for other queues") {
  Bench bench;
  bench.Tell(KindsDeclared{{"gpu.A"}});
  bench.Tell(QueueUpserted{AQueue("k").Guarantee(kFirstExtendedKind, 7000), 1});
  bench.Tell(NodeUpserted{ANode("h").Cores(8).Gpus(4, "H", 16000), 1});
  bench.Add(AJob("j").In("q").Role("w", 2, APod().Gpus(1)));
  const auto on = [&](const char* node) {
    return bench.CheckOne(
        bench.Start("j", {bench.On(node, bench.task("j", 0), {WholeSlice(0, 16000)}),
                          bench.On(node, bench.task("j", 1), {WholeSlice(1, 16000)})}));
  };
  Says(on("n"), "would keep for other queues gpu.A 7000 of 6000 free");
  CHECK(on("h") == "");
}

TEST_CASE("Verifier: a device over-committed, in compute and in memory") {
  Bench bench;
  bench.Add(AJob("j").Role("w", 2, APod().Share(600, 1000)));
  Says(bench.CheckOne(
           bench.Start("j", {bench.On("n", bench.task("j", 0), {PartSlice(0, 600, 1000)}),
                             bench.On("n", bench.task("j", 1), {PartSlice(0, 600, 1000)})})),
       "compute 600 of 400");
  bench.Add(AJob("m").Role("w", 2, APod().Share(0, 9000)));
  Says(bench.CheckOne(
           bench.Start("m", {bench.On("n", bench.task("m", 0), {PartSlice(0, 0, 9000)}),
                             bench.On("n", bench.task("m", 1), {PartSlice(0, 0, 9000)})})),
       "memory 9000 of 7000");
}

TEST_CASE("Verifier: a whole device that is in use, before or within the plan") {
  Bench bench;
  bench.Add(AJob("part").Role("w", 1, APod().Share(0, 10)));
  bench.Add(AJob("whole").Role("w", 1, APod().Gpus(1)));
  const Decision part =
      bench.Start("part", {bench.On("n", bench.task("part", 0), {PartSlice(2, 0, 10)})});
  const Decision whole =
      bench.Start("whole", {bench.On("n", bench.task("whole", 0), {WholeSlice(2, 16000)})});
  CHECK(bench.CheckOne(whole) == "");
  Says(bench.Check({part, whole})[1], "whole device 2, which is in use");
}

TEST_CASE("Verifier: slices that are not what the containers asked for") {
  Bench bench;
  bench.Add(AJob("j").Role("w", 1, APod().Share(500, 1000)));
  const TaskId task = bench.task("j", 0);
  const auto fault = [&](Slices slices) {
    return bench.CheckOne(bench.Start("j", {bench.On("n", task, std::move(slices))}));
  };
  CHECK(fault({PartSlice(0, 500, 1000)}) == "");
  Says(fault({PartSlice(0, 400, 1000)}), "another size");
  Says(fault({PartSlice(0, 500, 900)}), "another size");
  Says(fault({}), "devices 0 of 1");
  Says(fault({PartSlice(0, 500, 1000), PartSlice(1, 500, 1000)}), "devices 2 of 1");
  Says(fault({PartSlice(0, 500, 1000), PartSlice(1, 500, 1000, 7)}), "slices that no container asks for");
  Says(fault({PartSlice(9, 500, 1000)}), "no device 9");
  bench.Add(AJob("two").Role("w", 1, APod().Share(100, 10, 2)));
  Says(bench.CheckOne(bench.Start(
           "two",
           {bench.On("n", bench.task("two", 0), {PartSlice(1, 100, 10), PartSlice(1, 100, 10)})})),
       "same device twice");
}

TEST_CASE("Verifier: a device of a model that was not asked for, or that is not healthy") {
  Bench bench;
  bench.Tell(NodeUpserted{ANode("mixed").Gpus(1, "A").Gpus(1, "B").Gpus(1, "B").Unhealthy(2), 1});
  bench.Add(AJob("j").Role("w", 1, APod().Gpus(1).Models({"B"})));
  const auto fault = [&](std::uint16_t device) {
    return bench.CheckOne(
        bench.Start("j", {bench.On("mixed", bench.task("j", 0), {WholeSlice(device)})}));
  };
  Says(fault(0), "model A");
  CHECK(fault(1) == "");
  CHECK(fault(2) != "");
}

TEST_CASE("Verifier: a node that is not eligible, or not there") {
  Bench bench;
  bench.Add(AJob("j").Role("w", 1, APod().Cores(1)));
  Says(bench.CheckOne(bench.Start("j", {bench.On("t", bench.task("j", 0))})), "not eligible");
  Says(bench.CheckOne(bench.Start("j", {{bench.task("j", 0), NodeId(77), {}}})), "not there");
  Says(bench.CheckOne(bench.Start("j", {{bench.task("j", 0), NodeId(), {}}})), "not there");
}

TEST_CASE("Verifier: a gang or a role below its minimum") {
  Bench bench;
  bench.Add(AJob("j").Role("w", 3, APod().Cores(1)).MinMember(3));
  Says(bench.CheckOne(bench.Start(
           "j", {bench.On("n", bench.task("j", 0)), bench.On("n", bench.task("j", 1))})),
       "gang would run 2 of 3");
  bench.Add(AJob("r").Role("a", 2, APod(), 1).Role("b", 2, APod(), 1).MinMember(2));
  Says(bench.CheckOne(bench.Start(
           "r", {bench.On("n", bench.task("r", 0)), bench.On("n", bench.task("r", 1))})),
       "role b would run 0 of 1");
}

TEST_CASE("Verifier: what is kept for another queue, under a limit and in the cluster") {
  Bench bench;
  const auto start = [&](const char* job, int tasks) {
    std::vector<Placement> placements;
    for (int i = 0; i < tasks; ++i) {
      placements.push_back(
          bench.On("n", bench.task(job, i), {WholeSlice(static_cast<std::uint16_t>(i), 16000)}));
    }
    return bench.CheckOne(bench.Start(job, placements));
  };
  bench.Tell(QueueUpserted{AQueue("kept").Under("top").Guarantee(kGpu, 2000), 1});
  bench.Add(AJob("two").In("q").Role("w", 2, APod().Gpus(1)));
  bench.Add(AJob("guaranteed").In("kept").Role("w", 2, APod().Gpus(1)));
  bench.Add(AJob("one").In("q").Role("w", 1, APod().Gpus(1)));
  Says(start("two", 2), "queue top would hold or keep for other queues gpu 4000 of 3000");
  CHECK(start("guaranteed", 2) == "");
  CHECK(start("one", 1) == "");
  // Of 8 GPUs 2 and 5 are kept; "q" would need the last one, and one more.
  bench.Tell(QueueUpserted{AQueue("far").Guarantee(kGpu, 5000), 1});
  bench.Add(AJob("free").In("loose").Role("w", 2, APod().Gpus(1)));
  bench.Tell(QueueUpserted{AQueue("loose"), 1});
  Says(start("free", 2), "the cluster would keep for other queues gpu 7000 of 6000 free");
}

TEST_CASE("Verifier: a queue over its limit, through all queues above") {
  Bench bench;
  bench.Add(AJob("j").In("q").Role("w", 4, APod().Gpus(1)));
  std::vector<Placement> placements;
  for (int i = 0; i < 4; ++i) {
    placements.push_back(
        bench.On("n", bench.task("j", i), {WholeSlice(static_cast<std::uint16_t>(i), 16000)}));
  }
  Says(bench.CheckOne(bench.Start("j", placements)), "queue top would hold gpu 4000 of 3000");
}

TEST_CASE("Verifier: more of a group in a domain than its limit") {
  Bench bench;
  bench.Add(AJob("j").Role("w", 2, APod().AtMost(1, "g", "rack")));
  Says(bench.CheckOne(bench.Start(
           "j", {bench.On("n", bench.task("j", 0)), bench.On("n", bench.task("j", 1))})),
       "1 of 1 tasks of group g");
}

TEST_CASE("Verifier: a task twice, of another job, not pending, or not known") {
  Bench bench;
  bench.Add(AJob("j").Role("w", 2, APod().Cores(1)).MinMember(1));
  bench.Add(AJob("k").Role("w", 1, APod().Cores(1)));
  const Placement one = bench.On("n", bench.task("j", 0));
  Says(bench.CheckOne(bench.Start("j", {one, one})), "twice");
  Says(bench.CheckOne(bench.Start("j", {bench.On("n", bench.task("k", 0))})), "another job");
  Says(bench.CheckOne(bench.Start("j", {bench.On("n", TaskId(999))})), "unknown");
  Says(bench.CheckOne(bench.Start("j", {bench.On("n", TaskId())})), "unknown");
  const auto twice = bench.Check({bench.Start("j", {one}), bench.Start("j", {one})});
  CHECK(twice[0] == "");
  Says(twice[1], "twice");
  TaskFact fact;
  fact.uid = "p", fact.job = "j", fact.role = "w", fact.index = 0;
  fact.phase = TaskPhase::kRunning, fact.node = "n";
  bench.Tell(TaskUpserted{fact, 1});
  Says(bench.CheckOne(bench.Start("j", {one})), "not pending");
}

TEST_CASE("Verifier: placements without a start") {
  Bench bench;
  bench.Add(AJob("j").Role("w", 1, APod()));
  Decision decision = bench.Start("j", {bench.On("n", bench.task("j", 0))});
  decision.verdict = Verdict::kWait;
  Says(bench.CheckOne(decision), "although it does not start");
  decision.placements.clear();
  CHECK(bench.CheckOne(decision) == "");
}

TEST_CASE("Verifier: a node that the task's mask excludes, or whose mask is not known") {
  Bench bench;
  bench.Add(AJob("j").Role("w", 1, APod().Cores(1).Masked("m")));
  const Decision start = bench.Start("j", {bench.On("n", bench.task("j", 0))});
  Says(bench.CheckOne(start), "excluded by mask m");
  bench.Tell(MaskUpserted{"m", {"n"}, 1});
  Says(bench.CheckOne(start), "excluded by mask m");
  bench.Tell(MaskUpserted{"m", {"t"}, 2});
  CHECK(bench.CheckOne(start) == "");
}

TEST_CASE("Verifier: only a gang that a failed binding broke gives back its own running tasks") {
  Bench bench;
  bench.Add(AJob("j").Role("w", 4, APod()));
  bench.Add(AJob("k").Role("w", 1, APod()));
  const auto runs = [&](const std::string& job, int index) {
    TaskFact fact;
    fact.uid = job + std::to_string(index), fact.job = job, fact.role = "w", fact.index = index;
    fact.phase = TaskPhase::kRunning, fact.node = "n";
    bench.Tell(TaskUpserted{fact, 1});
    return bench.task(job, index);
  };
  const TaskId a = runs("j", 0), b = runs("j", 1), foreign = runs("k", 0);
  const auto fault = [&](std::vector<TaskId> evictions) {
    return bench.CheckOne(
        {bench.state_.FindJob("j"), Part::kMinimum, Verdict::kUnwind, {}, {}, std::move(evictions)});
  };
  Says(fault({a, b}), "no failed binding broke");
  // Two more are handed over by hand; the binding of one fails.
  Plan plan;
  plan.decisions.push_back(
      bench.Start("j", {bench.On("n", bench.task("j", 2)), bench.On("n", bench.task("j", 3))}));
  bench.state_.Assume(plan);
  bench.Tell(BindFailed{"j", "w", 3, "n", "conflict"});
  Says(fault({a, b}), "while a binding of it is under way");
  bench.Tell(PlanStale{"j", "for the test"});
  CHECK(fault({a, b}) == "");
  Says(fault({a}), "1 of 2 running tasks");
  Says(fault({a, a}), "twice");
  Says(fault({a, bench.task("j", 2)}), "does not run");
  Says(fault({a, foreign}), "another job");
  Says(fault({a, TaskId(999)}), "unknown");
  const auto unwinding = [&](std::vector<TaskId> evictions) -> Decision {
    return {bench.state_.FindJob("j"), Part::kMinimum, Verdict::kUnwind, {}, {},
            std::move(evictions)};
  };
  CHECK(bench.Check({unwinding({a}), unwinding({a, b}), unwinding({a, b})}) ==
        std::vector<std::string>{"evicts 1 of 2 running tasks", "", "evicts a task twice"});
  Decision start = bench.Start("j", {});
  start.evictions = {a, b};
  Says(bench.CheckOne(start), "evicts for a start");
  Decision wait = unwinding({a, b});
  wait.verdict = Verdict::kWait;
  Says(bench.CheckOne(wait), "although it does not start");
  Says(fault({}), "evicts no task");
}

TEST_CASE("Verifier: the smallest bound that tasks of a group brought holds for all of them") {
  Bench bench;
  bench.Add(AJob("one").Role("w", 1, APod().AtMost(1, "g", "rack")));
  bench.Add(AJob("two").Role("w", 1, APod().AtMost(2, "g", "rack")));
  const Decision one = bench.Start("one", {bench.On("n", bench.task("one", 0))});
  const Decision two = bench.Start("two", {bench.On("n", bench.task("two", 0))});
  Says(bench.Check({one, two})[1], "1 of 1 tasks of group g");
  Says(bench.Check({two, one})[1], "1 of 1 tasks of group g");
}

TEST_CASE("Verifier: a decision that fails leaves nothing behind for the next one") {
  Bench bench;
  bench.Add(AJob("bad").Role("w", 3, APod().Cores(4)).MinMember(1));
  bench.Add(AJob("good").Role("w", 2, APod().Cores(4)));
  const Placement a = bench.On("n", bench.task("bad", 0)), b = bench.On("n", bench.task("bad", 1)),
                  c = bench.On("n", bench.task("bad", 2));
  const Decision good = bench.Start(
      "good", {bench.On("n", bench.task("good", 0)), bench.On("n", bench.task("good", 1))});
  // Over-committed, twice the same, unknown: each is undone as a whole, and no more than that, so
  // the node has room for exactly the good one.
  for (const Decision& bad : {bench.Start("bad", {a, b, c}), bench.Start("bad", {a, a}),
                              bench.Start("bad", {a, bench.On("n", TaskId(999))})}) {
    const auto faults = bench.Check({bad, good, bench.Start("bad", {a})});
    CHECK(faults[0] != "");
    CHECK(faults[1] == "");
    Says(faults[2], "cpu 4000 of 0");
  }
}

TEST_CASE("Verifier: what was over-committed before is no fault of a decision that leaves it") {
  Bench bench;
  TaskFact fact;
  fact.uid = "greedy", fact.phase = TaskPhase::kRunning, fact.node = "n";
  fact.pod = APod().Memory(1000 * kGiB);
  bench.Tell(TaskUpserted{fact, 1});
  bench.Add(AJob("cpu").Role("w", 1, APod().Cores(1)));
  bench.Add(AJob("mem").Role("w", 1, APod().Memory(1)));
  CHECK(bench.CheckOne(bench.Start("cpu", {bench.On("n", bench.task("cpu", 0))})) == "");
  Says(bench.CheckOne(bench.Start("mem", {bench.On("n", bench.task("mem", 0))})), "memory");
}

// A task of `old` runs on device 0 of "n", and `big` takes all of "n" once that has moved to "o".
struct MoveBench {
  Bench bench;
  Decision decision;

  explicit MoveBench(const AJob& old = AJob("old").Role("w", 1, APod().Gpus(1)).Movable()) {
    EngineConfig config;
    config.moves.mode = MoveSettings::Mode::kOn;
    bench.Tell(ConfigChanged{config});
    bench.Tell(NodeUpserted{ANode("o").Cores(8).Gpus(1, "A", 16000), 1});
    bench.Add(old);
    bench.Add(AJob("big").Role("w", 4, APod().Gpus(1)).MinMember(4));
    TaskFact fact;
    fact.uid = "pod";
    fact.job = "old";
    fact.role = "w";
    fact.phase = TaskPhase::kRunning;
    fact.node = "n";
    fact.slices = {WholeSlice(0, 16000)};
    bench.Tell(TaskUpserted{fact, 2});
    decision = bench.Start("big", {});
    decision.verdict = Verdict::kStartAfterEviction;
    for (int i = 0; i < 4; ++i) {
      decision.placements.push_back(
          bench.On("n", bench.task("big", i), {WholeSlice(static_cast<std::uint16_t>(i), 16000)}));
    }
    decision.evictions = {bench.task("old", 0)};
    decision.moves = {bench.On("o", bench.task("old", 0), {WholeSlice(0, 16000)})};
  }
  std::string Fault() {
    const Snapshot snapshot = bench.state_.Freeze(0);
    bench.verifier_.Begin(snapshot);
    bench.verifier_.LookAhead();
    return bench.verifier_.Check(decision);
  }
};

TEST_CASE("Verifier: moves") {
  CHECK(MoveBench().Fault() == "");
  MoveBench back;
  back.decision.moves[0].node = back.bench.state_.books().hardware.Find("n");
  Says(back.Fault(), "moves a task of job old: node n would give gpu 1000 of 0 free");
  MoveBench stays(AJob("old").Role("w", 1, APod().Gpus(1)));
  Says(stays.Fault(), "which is not to be moved");
  MoveBench twice;
  twice.decision.moves.push_back(twice.decision.moves[0]);
  Says(twice.Fault(), "moves a task twice");
  MoveBench other;
  other.decision.moves[0].task = other.decision.placements[0].task;
  Says(other.Fault(), "evicts a task");
  MoveBench off;
  off.bench.Tell(ConfigChanged{});
  Says(off.Fault(), "the config allows none");
  MoveBench gone;
  gone.bench.Tell(NodeRemoved{"o"});
  Says(gone.Fault(), "not there");
}

}  // namespace
}  // namespace tephra
