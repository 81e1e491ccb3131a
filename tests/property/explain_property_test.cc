// What is said of a job that waits is true: told to a fresh engine as facts, each relaxation makes
// it start, and with any of its amounts one less it does not. What queues hold above their own adds
// up to what State knows.
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

// An engine, and all that it was told.
struct Told {
  Engine engine{DefaultAssembly()};
  std::vector<Event> events;

  void Tell(const Event& event) {
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

// What the first cycle placed runs, and of the others only those stay that `stay` says.
void Settle(Told& told, const NamedPlan& plan, bool others_stay) {
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
      told.Tell(TaskUpserted{fact, 1});
    }
  }
  if (others_stay) return;
  std::vector<std::string> waiting;
  for (const JobRow& job : told.books().jobs) {
    if (job.live && job.counted() == 0) waiting.push_back(job.uid);
  }
  for (const std::string& uid : waiting) told.Tell(JobRemoved{uid});
}

// Those whose smallest steps down are one less.
// `step`: what one less is of what a task asks for.
std::vector<std::vector<Change>> OneLess(const std::vector<Change>& changes, std::int64_t step) {
  std::vector<std::vector<Change>> all;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    std::vector<Change> less = changes;
    Change& change = less[i];
    switch (change.easing) {
      case Easing::kAhead:
      case Easing::kLetIn:
      case Easing::kTier:
        break;
      case Easing::kLimit:
      case Easing::kLend:
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
  Told fresh;
  for (const Event& event : events) fresh.Tell(event);
  const JobId job = fresh.engine.state().FindJob(kTarget);
  for (const Event& fact : FactsOf(fresh.books(), job, changes, kFirstWhatIf).facts) {
    fresh.Tell(fact);
  }
  return Starts(fresh.Tick(2));
}

// Of a role of the target whose tasks ask for devices once.
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
  // Often of one plain role, so that each kind of easing is met.
  if (dice.Percent(50)) {
    const int tasks = dice.From(1, 6), gpus = dice.From(1, 4);
    const JobSpec plain = AJob("plain").Role("w", tasks, APod().Gpus(gpus));
    job.gang = plain.gang;
  }
  return job;
}

// A cluster on which others run and the target waits, in a queue that is `promised` a part of it;
// false: it does not wait.
bool MakeCase(Dice& dice, Told& told, bool others_stay, bool promised = false) {
  EngineConfig config;
  config.node_scores = {{dice.Percent(50) ? "binpack" : "spread", 1}};
  told.Tell(ConfigChanged{config});
  for (Event event : RandomCase(dice, kSize)) {
    if (auto* node = std::get_if<NodeUpserted>(&event)) {
      node->node.unschedulable = dice.Percent(20);
    }
    told.Tell(event);
  }
  if (promised) {
    told.Tell(
        QueueUpserted{AQueue("q2").Under(dice.Percent(50) ? "q0" : "").Deserved(kGpu, 8000), 1});
  }
  Settle(told, told.Tick(1), others_stay);
  if (std::any_of(told.books().jobs.begin(), told.books().jobs.end(),
                  [](const JobRow& job) { return job.held() > 0; })) {
    return false;
  }
  JobSpec target = Target(dice);
  if (promised) target.queue = "q2";
  told.Tell(JobUpserted{target, 1});
  const JobRow& job = told.books().jobs[told.engine.state().FindJob(kTarget).index()];
  if (dice.Percent(15)) {
    const Hardware& hardware = told.books().hardware;
    const NodeId node(static_cast<std::size_t>(dice.Below(static_cast<int>(hardware.slots()))));
    told.Tell(PlacementRefused{kTarget, job.roles[0].name, hardware.spec(node).name, "no"});
  }
  return !Starts(told.Tick(2)) && job.held() == 0;
}

TEST_CASE("Each relaxation, told as facts, makes the job start, and one less does not") {
  int instances = 0, relaxations = 0, unproven = 0;
  std::map<Easing, int> kinds;
  const Assembly assembly = DefaultAssembly();
  ForEachSeed(2000, [&](std::uint64_t seed) {
    Dice dice(seed);
    Told told;
    if (!MakeCase(dice, told, false)) return;
    const Relaxations found =
        FindRelaxations(told.engine.state(), assembly, told.engine.state().FindJob(kTarget), 2);
    ++instances;
    for (const Relaxation& relaxation : found.nearest) {
      INFO(RelaxationText(told.books().kinds, relaxation));
      ++relaxations;
      for (const Change& change : relaxation.changes) ++kinds[change.easing];
      REQUIRE(StartsWith(told.events, relaxation.changes));
      if (!relaxation.smallest) {
        ++unproven;
        continue;
      }
      const std::int64_t step =
          StepOf(told.books(), told.engine.state().FindJob(kTarget), relaxation.changes);
      for (const std::vector<Change>& less : OneLess(relaxation.changes, step)) {
        REQUIRE_FALSE(StartsWith(told.events, less));
      }
    }
  });
  if (std::getenv("TEPHRA_PROPERTY_SEED") != nullptr) return;
  WARN(relaxations << " relaxations of " << instances << " jobs that wait, " << unproven
                   << " of them not proven smallest; limits " << kinds[Easing::kLimit] << ", lent "
                   << kinds[Easing::kLend] << ", members " << kinds[Easing::kMembers] << ", asks "
                   << kinds[Easing::kAsk] << ", nodes back " << kinds[Easing::kReturn] << ", nodes "
                   << kinds[Easing::kNodes]);
  if (kSlowdown > 1) return;
  CHECK(instances >= 300);
  for (int e = static_cast<int>(Easing::kLimit); e < static_cast<int>(Easing::kLetIn); ++e) {
    CHECK(kinds[static_cast<Easing>(e)] > 0);
  }
}

TEST_CASE("Who would start if it were not behind another does so if it is first") {
  int behind = 0;
  const Assembly assembly = DefaultAssembly();
  ForEachSeed(2000, [&](std::uint64_t seed) {
    Dice dice(seed);
    Told told;
    if (!MakeCase(dice, told, true)) return;
    const Relaxations found =
        FindRelaxations(told.engine.state(), assembly, told.engine.state().FindJob(kTarget), 2);
    for (const Relaxation& relaxation : found.nearest) {
      if (relaxation.changes.size() > 1 || relaxation.changes[0].easing != Easing::kAhead) continue;
      INFO(RelaxationText(told.books().kinds, relaxation));
      ++behind;
      REQUIRE(StartsWith(told.events, relaxation.changes));
      REQUIRE_FALSE(StartsWith(told.events, {}));
    }
  });
  WARN(behind << " jobs waited behind another alone");
}

TEST_CASE("What borrowers hold, and what is in its parts, is what State says that they hold") {
  int shortfalls = 0;
  const Assembly assembly = DefaultAssembly();
  ForEachSeed(2000, [&](std::uint64_t seed) {
    Dice dice(seed);
    Told told;
    if (!MakeCase(dice, told, true, true)) return;
    const Books& books = told.books();
    std::int32_t living = 0;
    const Snapshot snapshot(books, 2, &living);
    const Policies policies =
        assembly.policies(books.config, assembly.score(books.config, books, nullptr));
    const std::vector<Resources> own = policies.share->Of(books).own;
    for (const Shortfall& shortfall :
         FindShortfalls(snapshot, policies, told.engine.state().FindJob(kTarget))) {
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
