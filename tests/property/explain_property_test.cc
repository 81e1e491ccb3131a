// The laws of explain. Applied to a new engine as facts, each relaxation makes the job start, and
// with any amount one less the job does not start. The usage of borrowers adds up to the usage in
// State.
#include <map>

#include "plugins/explain/borrowers.h"
#include "plugins/explain/relaxations.h"
#include "plugins/registry.h"
#include "tests/property/laws.h"
#include "tests/support/build.h"
#include "tests/support/named_plan.h"
#include "tests/support/random_case.h"

namespace tephra {
namespace {

constexpr CaseSize kSize{.nodes = 5, .devices = 4, .jobs = 6, .tasks = 6, .queue_limits = true};
constexpr char kTarget[] = "target";

// An engine and all of its events.
struct Recorded {
  Engine engine{DefaultAssembly()};
  std::vector<Event> events;

  void Apply(const Event& event) {
    const absl::Status status = engine.Apply(event);
    INFO(status.ToString());
    REQUIRE(status.ok());
    events.push_back(event);
  }
  NamedPlan Tick(TimeMs now) {
    const Plan plan = engine.Tick(now);
    return NameOf(engine.state(), plan);
  }
  const Books& books() const { return engine.state().books(); }
};

bool Starts(const NamedPlan& plan) {
  for (const NamedDecision& decision : plan.decisions) {
    if (decision.job == kTarget && decision.part == Part::kMinimum) {
      return decision.verdict == Verdict::kStart;
    }
  }
  return false;
}

// The tasks that the first cycle placed run. The other jobs stay only with `others_stay`.
void Settle(Recorded& run, const NamedPlan& plan, bool others_stay) {
  for (const NamedDecision& decision : plan.decisions) {
    for (const NamedPlacement& placed : decision.placements) {
      TaskFact fact;
      fact.uid = decision.job + "/" + placed.role + "/" + std::to_string(placed.index);
      fact.job = decision.job;
      fact.role = placed.role;
      fact.index = placed.index;
      fact.phase = TaskPhase::kRunning;
      fact.node = placed.node;
      fact.slices = placed.slices;
      run.Apply(TaskUpserted{fact, 1});
    }
  }
  if (others_stay) return;
  std::vector<std::string> waiting;
  for (const JobRow& job : run.books().jobs) {
    if (job.live && job.counted() == 0) waiting.push_back(job.uid);
  }
  for (const std::string& uid : waiting) run.Apply(JobRemoved{uid});
}

// The changes with each amount one less. `step`: one less of the request of a task.
std::vector<std::vector<Change>> OneLess(const std::vector<Change>& changes, std::int64_t step) {
  std::vector<std::vector<Change>> all;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    std::vector<Change> less = changes;
    Change& change = less[i];
    switch (change.easing) {
      case Easing::kAhead:
      case Easing::kAdmitted:
      case Easing::kTier:
      case Easing::kPreemptible:
        break;
      case Easing::kLimit:
      case Easing::kLend:
      case Easing::kDeserved:
      case Easing::kNodes:
        --change.amount;
        break;
      case Easing::kMembers:
        ++change.amount;
        break;
      case Easing::kAsk:
        change.amount += step;
        break;
      case Easing::kReturn:
        for (std::size_t n = 0; n < change.nodes.size(); ++n) {
          std::vector<Change> fewer = changes;
          fewer[i].nodes.erase(fewer[i].nodes.begin() + static_cast<std::ptrdiff_t>(n));
          all.push_back(std::move(fewer));
        }
        continue;
    }
    const bool gone = change.easing == Easing::kAhead || change.amount == 0;
    const bool as_it_is = change.easing == Easing::kMembers || change.easing == Easing::kAsk;
    if (gone || (as_it_is && change.amount >= change.now)) {
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    }
    all.push_back(std::move(less));
  }
  return all;
}

bool StartsWith(const std::vector<Event>& events, const std::vector<Change>& changes) {
  Recorded fresh;
  for (const Event& event : events) fresh.Apply(event);
  const JobId job = fresh.engine.state().FindJob(kTarget);
  for (const Event& fact : FactsOf(fresh.books(), job, changes, kFirstWhatIf).facts) {
    fresh.Apply(fact);
  }
  return Starts(fresh.Tick(2));
}

// The step of the request of a role whose tasks have one device request.
std::int64_t StepOf(const Books& books, JobId job, const std::vector<Change>& changes) {
  for (const RoleRow& role : books.jobs[job.index()].roles) {
    const TaskClass& cls = books.classes[role.cls];
    if (role.name != changes.back().role || !cls.single_ask()) continue;
    return cls.lasting[0].request.whole() ? kWholeGpu : cls.lasting[0].request.count;
  }
  return 0;
}

JobSpec Target(Dice& dice) {
  JobSpec job = RandomJob(dice, kTarget, kSize);
  job.created = 9;
  job.pods_exist = false;
  // Often one simple role, so that each kind of change occurs.
  if (dice.Percent(50)) {
    const int tasks = dice.From(1, 6), gpus = dice.From(1, 4);
    const JobSpec plain = AJob("plain").Role("w", tasks, APod().Gpus(gpus));
    job.gang = plain.gang;
  }
  return job;
}

// A cluster with running jobs and a pending target. With `deserves`, the queue of the target
// deserves a part of the cluster. False: the target is not pending.
bool MakeCase(Dice& dice, Recorded& run, bool others_stay, bool deserves = false) {
  EngineConfig config;
  config.node_scores = {{dice.Percent(50) ? "binpack" : "spread", 1}};
  run.Apply(ConfigChanged{config});
  for (Event event : RandomCase(dice, kSize)) {
    if (auto* node = std::get_if<NodeUpserted>(&event)) {
      node->node.unschedulable = dice.Percent(20);
    }
    run.Apply(event);
  }
  if (deserves) {
    run.Apply(
        QueueUpserted{AQueue("q2").Under(dice.Percent(50) ? "q0" : "").Deserved(kGpu, 8000), 1});
  }
  Settle(run, run.Tick(1), others_stay);
  if (std::any_of(run.books().jobs.begin(), run.books().jobs.end(),
                  [](const JobRow& job) { return job.keeps_room(); })) {
    return false;
  }
  JobSpec target = Target(dice);
  if (deserves) target.queue = "q2";
  run.Apply(JobUpserted{target, 1});
  const JobRow& job = run.books().jobs[run.engine.state().FindJob(kTarget).index()];
  if (dice.Percent(15)) {
    const Hardware& hardware = run.books().hardware;
    const NodeId node(static_cast<std::size_t>(dice.Below(static_cast<int>(hardware.slots()))));
    run.Apply(PlacementRefused{kTarget, job.roles[0].name, hardware.spec(node).name, "no"});
  }
  const NamedPlan plan = run.Tick(2);
  if (Starts(plan) || job.keeps_room()) return false;
  // Elastic tasks of other jobs may have started. They run, so that a new engine has them as facts.
  const bool evicts =
      std::any_of(plan.decisions.begin(), plan.decisions.end(), [](const auto& one) {
        return one.verdict != Verdict::kStart && !(one.placements.empty() && one.evictions.empty());
      });
  if (evicts) return false;
  Settle(run, plan, true);
  return true;
}

TEST_CASE("Each relaxation, applied as facts, makes the job start, and one less does not") {
  int instances = 0, relaxations = 0, unproven = 0;
  std::map<Easing, int> kinds;
  const Assembly assembly = DefaultAssembly();
  ForEachSeed(2000, {36028}, [&](std::uint64_t seed) {
    Dice dice(seed);
    Recorded run;
    if (!MakeCase(dice, run, false, seed % 4 == 3)) return;
    const Relaxations found =
        FindRelaxations(run.engine.state(), assembly, run.engine.state().FindJob(kTarget), 2);
    ++instances;
    for (const Relaxation& relaxation : found.nearest) {
      INFO(RelaxationText(run.books().kinds, relaxation));
      ++relaxations;
      for (const Change& change : relaxation.changes) ++kinds[change.easing];
      REQUIRE(StartsWith(run.events, relaxation.changes));
      if (!relaxation.smallest) {
        ++unproven;
        continue;
      }
      const std::int64_t step =
          StepOf(run.books(), run.engine.state().FindJob(kTarget), relaxation.changes);
      for (const std::vector<Change>& less : OneLess(relaxation.changes, step)) {
        INFO(
            "one less: " << (less.empty() ? "nothing" : RelaxationText(run.books().kinds, {less})));
        REQUIRE_FALSE(StartsWith(run.events, less));
      }
    }
  });
  if (std::getenv("TEPHRA_PROPERTY_SEED") != nullptr) return;
  WARN(relaxations << " relaxations of " << instances << " pending jobs, " << unproven
                   << " of them not proven smallest; limits " << kinds[Easing::kLimit] << ", lent "
                   << kinds[Easing::kLend] << ", members " << kinds[Easing::kMembers] << ", asks "
                   << kinds[Easing::kAsk] << ", nodes back " << kinds[Easing::kReturn] << ", nodes "
                   << kinds[Easing::kNodes] << ", deserved " << kinds[Easing::kDeserved] << ", preemptible "
                   << kinds[Easing::kPreemptible]);
  if (kSlowdown > 1) return;
  CHECK(instances >= 300);
  for (int e = static_cast<int>(Easing::kLimit); e < static_cast<int>(Easing::kAdmitted); ++e) {
    CHECK(kinds[static_cast<Easing>(e)] > 0);
  }
  CHECK(kinds[Easing::kDeserved] > 0);
  CHECK(kinds[Easing::kPreemptible] > 0);
}

TEST_CASE("A job that would start if no job were ahead of it starts if it is first") {
  int behind = 0;
  const Assembly assembly = DefaultAssembly();
  ForEachSeed(2000, [&](std::uint64_t seed) {
    Dice dice(seed);
    Recorded run;
    if (!MakeCase(dice, run, true)) return;
    const Relaxations found =
        FindRelaxations(run.engine.state(), assembly, run.engine.state().FindJob(kTarget), 2);
    for (const Relaxation& relaxation : found.nearest) {
      if (relaxation.changes.size() > 1 || relaxation.changes[0].easing != Easing::kAhead) continue;
      INFO(RelaxationText(run.books().kinds, relaxation));
      ++behind;
      REQUIRE(StartsWith(run.events, relaxation.changes));
      REQUIRE_FALSE(StartsWith(run.events, {}));
    }
  });
  WARN(behind << " jobs were only behind another job");
}

TEST_CASE("The usage of borrowers and its parts are the usage in State") {
  int shortfalls = 0;
  const Assembly assembly = DefaultAssembly();
  ForEachSeed(2000, [&](std::uint64_t seed) {
    Dice dice(seed);
    Recorded run;
    if (!MakeCase(dice, run, true, true)) return;
    const Books& books = run.books();
    std::int32_t living = 0;
    const Snapshot snapshot(books, 2, &living);
    const Policies policies =
        assembly.policies(books.config, assembly.score(books.config, books, nullptr));
    const std::vector<Resources> own = policies.share->Of(books).own;
    for (const Shortfall& shortfall :
         FindShortfalls(snapshot, policies, run.engine.state().FindJob(kTarget))) {
      ++shortfalls;
      const Kind k = shortfall.kind;
      const QueueId mine = books.queues.Find(shortfall.queue);
      REQUIRE(shortfall.holds == books.occupancy.queue_total(mine)[k]);
      REQUIRE(shortfall.own == own[mine.index()][k]);
      REQUIRE(shortfall.holds < shortfall.own);
      std::int64_t over = shortfall.others_over, expected = 0;
      for (const Borrower& borrower : shortfall.borrowers) {
        const QueueId queue = books.queues.Find(borrower.queue);
        const std::int64_t holds = books.occupancy.queue_total(queue)[k];
        REQUIRE(borrower.holds == holds);
        REQUIRE(borrower.own == own[queue.index()][k]);
        REQUIRE(borrower.over() > 0);
        std::int64_t parts = 0;
        for (const auto& [stays, amount] : borrower.parts) parts += amount;
        REQUIRE(borrower.reclaimable() <= borrower.over());
        // All that it holds, but for what may be reclaimed and is its own.
        REQUIRE(parts <= holds);
        if (borrower.reclaimable() < borrower.over()) REQUIRE(parts == holds);
        over += borrower.over();
      }
      for (std::size_t q = 0; q < books.queues.size(); ++q) {
        const QueueId queue(q);
        if (queue == mine || !books.queues.present(queue)) continue;
        if (books.queues.parent(queue) != books.queues.parent(mine)) continue;
        expected += std::max<std::int64_t>(books.occupancy.queue_total(queue)[k] - own[q][k], 0);
      }
      REQUIRE(over == expected);
    }
  });
  WARN(shortfalls << " shortfalls");
  if (kSlowdown == 1 && std::getenv("TEPHRA_PROPERTY_SEED") == nullptr) CHECK(shortfalls > 50);
}

}  // namespace
}  // namespace tephra
