// What Cycle::Commit does to the ledgers and to all that follow the plan.
#include "engine/cycle.h"

#include <functional>

#include <catch2/catch.hpp>

#include "engine/action.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

class Script final : public Action {
 public:
  explicit Script(std::function<void(Cycle&)> run) : run_(std::move(run)) {}
  std::string_view name() const override { return "script"; }
  void Run(Cycle& cycle) const override { run_(cycle); }

 private:
  std::function<void(Cycle&)> run_;
};

// Node "n" of two GPUs, on which "low" runs on the first one; "high" wants both, "small" one.
class Stage {
 public:
  Stage() : cluster_({}, Scripted()) {
    cluster_.Add(ANode("n").Gpus(2, "A", 16000));
    cluster_.Add(AJob("low").Role("w", 1, APod().Gpus(1)));
    cluster_.Task("low", "w", 0, TaskPhase::kRunning, "n", {WholeSlice(0, 16000)});
    cluster_.Add(AJob("high").Role("w", 2, APod().Gpus(1)).Priority(9));
    cluster_.Add(AJob("small").Role("w", 1, APod().Gpus(1)));
  }
  const NamedPlan& Play(std::function<void(Cycle&)> script) {
    script_ = std::move(script);
    return cluster_.Tick(1);
  }
  JobId Job(const char* uid) const { return cluster_.engine().state().FindJob(uid); }
  TaskId Task(const char* uid, std::size_t index) const {
    return cluster_.job(uid).roles[0].tasks[index];
  }
  Placement On(const char* uid, std::size_t index, std::uint16_t device) const {
    return {Task(uid, index), cluster_.books().hardware.Find("n"), {WholeSlice(device, 16000)}};
  }
  Decision Start(const char* uid, std::vector<Placement> placements) const {
    return {Job(uid), Part::kMinimum, Verdict::kStart, {}, std::move(placements), {}};
  }
  Decision Preempt() const {
    return {Job("high"),
            Part::kMinimum,
            Verdict::kStartAfterEviction,
            {},
            {On("high", 0, 0), On("high", 1, 1)},
            {Task("low", 0)}};
  }

 private:
  Assembly Scripted() {
    Assembly assembly = DefaultAssembly();
    assembly.actions.clear();
    assembly.actions.push_back(std::make_unique<Script>([this](Cycle& cycle) { script_(cycle); }));
    return assembly;
  }

  std::function<void(Cycle&)> script_ = [](Cycle&) {};
  mutable SmallCluster cluster_;
};

std::int64_t FreeGpu(const Ledger& ledger) { return ledger.occupancy().free_total()[kGpu]; }

TEST_CASE("Cycle: a decision is charged on both ledgers, wherever it was tried") {
  Stage stage;
  const NamedPlan plan = stage.Play([&](Cycle& cycle) {
    cycle.later().bench();
    Decision start = stage.Start("small", {stage.On("small", 0, 1)});
    Attempt attempt(cycle.now().ledger());
    cycle.now().ledger().Charge(cycle.snapshot().task(stage.Task("small", 0)).cls,
                                cycle.snapshot().job(stage.Job("small")).queue,
                                start.placements[0]);
    CHECK(cycle.Commit(start, &attempt));
    CHECK(FreeGpu(cycle.now().ledger()) == 0);
    CHECK(FreeGpu(cycle.later().bench().ledger()) == 0);
  });
  REQUIRE(plan.decisions.size() == 1);
  CHECK(plan.decisions[0].placements.size() == 1);
}

TEST_CASE("Cycle: victims are gone later, not now, and no job asks for them again") {
  Stage stage;
  stage.Play([&](Cycle& cycle) {
    cycle.later().bench();
    CHECK(cycle.Commit(stage.Preempt()));
    CHECK(FreeGpu(cycle.now().ledger()) == 0);
    CHECK(FreeGpu(cycle.later().bench().ledger()) == 0);
    CHECK(cycle.evicts(stage.Job("low")));
    CHECK_FALSE(cycle.evicts(stage.Job("high")));
  });
}

TEST_CASE("Cycle: a decision that does not verify leaves no trace anywhere") {
  Stage stage;
  const NamedPlan plan = stage.Play([&](Cycle& cycle) {
    Ledger& now = cycle.now().ledger();
    Ledger& later = cycle.later().bench().ledger();
    const Occupancy now_before = now.occupancy(), later_before = later.occupancy();
    // On a device that another task has.
    CHECK_FALSE(cycle.Commit(stage.Start("small", {stage.On("small", 0, 0)})));
    {
      Decision one_short = stage.Preempt();
      one_short.placements.pop_back();
      Attempt attempt(later);
      later.Free(stage.Task("low", 0));
      CHECK_FALSE(cycle.Commit(one_short, &attempt));
    }
    CHECK(now.occupancy().SameColumns(now_before));
    CHECK(later.occupancy().SameColumns(later_before));
    CHECK_FALSE(cycle.evicts(stage.Job("low")));
    CHECK(cycle.plan().decisions.empty());
    CHECK(cycle.plan().dropped == std::vector<JobId>{stage.Job("small"), stage.Job("high")});
    CHECK(cycle.Commit(stage.Preempt()));
  });
  REQUIRE(plan.decisions.size() == 1);
  CHECK(plan.decisions[0].evictions.size() == 1);
}

TEST_CASE("Cycle: a decision in the place of another leaves the plan one answer for the job") {
  Stage stage;
  Reason room;
  room.obstacle = Obstacle::kRoom;
  const NamedPlan plan = stage.Play([&](Cycle& cycle) {
    const Decision wait{stage.Job("high"), Part::kMinimum, Verdict::kWait, room, {}, {}};
    CHECK(cycle.Commit(wait));
    Decision again = wait;
    room.moving = Moving::kBudget;
    again.reason = room;
    CHECK(cycle.Replace(0, again));
    CHECK(cycle.plan().decisions.size() == 1);
    CHECK(cycle.Replace(0, stage.Preempt()));
    CHECK(cycle.Commit(stage.Start("small", {})) == false);
  });
  REQUIRE(plan.decisions.size() == 1);
  CHECK(plan.decisions[0].verdict == Verdict::kStartAfterEviction);
}

TEST_CASE("Cycle: more elastic members join the decision before them") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(4)).Add(AJob("j").Role("w", 4, APod().Gpus(1)).MinMember(1));
  const NamedPlan& plan = cluster.Tick();
  REQUIRE(plan.decisions.size() == 2);
  CHECK(plan.decisions[0].placements.size() == 1);
  CHECK(plan.decisions[1].part == Part::kElastic);
  CHECK(plan.decisions[1].placements.size() == 3);
}

}  // namespace
}  // namespace tephra
