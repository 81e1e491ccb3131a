#include "simulations/whatif/whatif.h"

#include <sstream>

#include <catch2/catch.hpp>

#include "plugins/registry.h"
#include "sidecar/wire/journal_writer.h"
#include "simulations/workload/simulation_file.h"
#include "tests/support/build.h"
#include "tests/support/dice.h"
#include "tests/support/scratch_file.h"

namespace tephra {
namespace {

constexpr DurationMs kHourMs = 3600 * kSecondMs;

// A simulation and the journal that it left.
class Recording {
 public:
  explicit Recording(const std::string& text) {
    auto read = ParseSimulation("f", text);
    INFO(text << "\n" << read.status().message());
    REQUIRE(read.ok());
    options_.cut = From("start");
    options_.go_on.grace = read->eviction_grace;
    options_.go_on.checkpoints = read->restarts.checkpoints;
    options_.path = file_.path();
    const auto run = RunSimulation(
        *std::move(read), {.journal = file_.path(), .engine = &engine_, .listener = &jobs});
    REQUIRE(run.ok());
    end = run->summary.end;
  }

  static Cut From(const std::string& word) {
    Cut cut;
    cut.from = word == "start" ? Cut::From::kStart : Cut::From::kEnd;
    return cut;
  }
  static Cut After(DurationMs distance) { return {Cut::From::kStart, distance, true}; }

  WhatifResult Ask(const Cut& cut, const std::vector<std::string>& changes = {}) {
    auto result = TryToAsk(cut, changes);
    INFO(result.status().message());
    REQUIRE(result.ok());
    return *std::move(result);
  }
  absl::StatusOr<WhatifResult> TryToAsk(const Cut& cut, const std::vector<std::string>& changes) {
    options_.cut = cut;
    options_.changes.clear();
    for (const std::string& change : changes) options_.changes.push_back({kChangeArgument, change});
    return RunWhatif(options_);
  }

  TimeMs end = 0;

 private:
  Engine engine_{DefaultAssembly()};
  ScratchFile file_{"", ".journal"};
  WhatifOptions options_;

 public:
  Outcomes jobs{engine_.state(), 0};
};

const JobOutcome& JobOf(const WhatifRun& run, const std::string& name) {
  for (const auto& [uid, job] : run.jobs->jobs()) {
    if (job.name == name) return job;
  }
  FAIL("no job " << name);
  throw;
}

// Queues that lend and reclaim, gangs that evict, nodes that are added and removed.
std::string RandomCluster(std::uint64_t seed) {
  Dice dice(seed);
  const auto number = [&](int least, int most) { return std::to_string(dice.From(least, most)); };
  std::string text = "cluster: { nodes: [{ name: n, count: 3, gpus: 8 }, { name: m, gpus: 4 }] }\n";
  text += "queues:\n";
  for (const char* queue : {"a", "b"}) {
    text += std::string("  - { name: ") + queue + ", weight: " + number(1, 3) +
            (dice.Percent(50) ? ", deserved: { gpu: 12 }" : "") +
            (dice.Percent(20) ? ", dequeue_strategy: fifo" : "") + " }\n";
  }
  text +=
      "policies: { backfill: { mode: " + dice.Pick<std::string>({"none", "easy", "conservative"}) +
      " }, job_order: " + dice.Pick<std::string>({"fifo", "sjf", "srtf"}) +
      (dice.Percent(40) ? ", usage_half_life: 6h" : "") +
      (dice.Percent(40) ? ", consolidation: { mode: \"on\" }" : "") +
      (dice.Percent(30) ? ", priority_boost: 30m" : "") + " }\n";
  text += "eviction_grace: " + dice.Pick<std::string>({"0s", "30s"}) + "\n";
  if (dice.Percent(50)) text += "failures: { nodes: { mtbf: 2d, mttr: 1h } }\n";
  text += "jobs:\n";
  int at = 0;
  for (int job = 0; job < 40; ++job) {
    at += dice.Below(200);
    text += "  - { name: j" + std::to_string(job) + ", queue: " + (dice.Percent(50) ? "a" : "b") +
            ", at: " + std::to_string(at) + "s, runtime: " + number(60, 6000) +
            "s, user: " + (dice.Percent(50) ? "ann" : "bob") +
            ", cpu: 1, priority: " + number(0, 1) + (dice.Percent(20) ? ", movable: true" : "") +
            (dice.Percent(20) ? ", estimated_runtime: 10m" : "") +
            (dice.Percent(25) ? ", gpu_share: 0.5" : ", members: " + number(1, 4) + ", gpus: 2") +
            (dice.Percent(20) ? ", min: 1" : "") + " }\n";
  }
  text += "events:\n  - { at: 20m, cordon: n-1 }\n  - { at: 40m, remove_node: n-2 }\n";
  text += "  - { at: 50m, uncordon: n-1 }\n  - { at: 1h, add_node: { name: n-2, gpus: 8 } }\n";
  text += "  - { at: 45m, set_queue: { name: a, weight: 5 } }\n  - { at: 30m, remove_job: j3 }\n";
  return text + "  - { at: 35m, fail_task: j5/worker/0 }\n";
}

TEST_CASE("Whatif: without a change a recorded run goes on as it went, from any moment") {
  std::int64_t starts = 0, evictions = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    INFO("seed " << seed);
    Recording recording(RandomCluster(seed));
    const WhatifResult whole = recording.Ask(Recording::From("start"));
    CHECK(whole.differences.empty());
    CHECK(whole.elsewhere == 0);
    CHECK_FALSE(whole.decided_otherwise);
    for (const auto& [uid, job] : recording.jobs.jobs()) {
      INFO(uid);
      const JobOutcome& again = whole.as_is.jobs->jobs().at(uid);
      CHECK(again.start == job.start);
      CHECK(again.end == job.end);
      CHECK(again.evictions == job.evictions);
      CHECK(again.where == job.where);
      evictions += job.evictions;
    }
    Dice dice(seed);
    for (int i = 0; i < 3; ++i) {
      const DurationMs distance = dice.Below(static_cast<int>(recording.end));
      INFO("at " << distance << " ms");
      const WhatifResult part = recording.Ask(Recording::After(distance));
      CHECK(part.reproduced.same_starts == part.reproduced.starts);
      CHECK(part.reproduced.same_ends == part.reproduced.ends);
      starts += part.reproduced.starts;
    }
  }
  CHECK(starts > 200);
  CHECK(evictions > 50);
}

const std::string kTwoQueues = R"(
cluster: { nodes: 2, gpus_per_node: 8 }
queues: [{ name: a, limit: { gpu: 8 }, weight: 3 }, { name: b }]
policies: { backfill: { mode: easy, reservations: 2 } }
jobs:
  - { name: first, queue: a, gpus: 8, runtime: 2h }
  - { name: other, queue: b, gpus: 8, runtime: 3h }
  - { name: second, queue: a, at: 10m, gpus: 8, runtime: 1h }
  - { name: third, queue: b, at: 20m, gpus: 8, runtime: 1h }
  - { name: late, queue: b, at: 30m, gpus: 4, runtime: 10m }
)";

TEST_CASE("Whatif: more nodes let pending jobs start, and the differences are listed") {
  Recording recording(kTwoQueues);
  const WhatifResult result = recording.Ask(Recording::After(15 * 60 * kSecondMs),
                                            {"{ add_node: { like: n-0, count: 2 } }"});
  CHECK(result.running == 2);
  CHECK(result.waiting == 1);
  CHECK(result.coming == 2);
  CHECK(JobOf(result.as_is, "third").start == 3 * kHourMs);
  CHECK(JobOf(result.changed, "third").start == 20 * 60 * kSecondMs);
  // The limit of its queue holds it back as before.
  CHECK(JobOf(result.changed, "second").start == JobOf(result.as_is, "second").start);
  REQUIRE(result.differences.size() == 2);
  CHECK(result.as_is.totals.coming.mean_s > result.changed.totals.coming.mean_s);
}

TEST_CASE("Whatif: of a queue, a job and the policies only what is given changes") {
  Recording recording(kTwoQueues);
  const Cut cut = Recording::After(15 * 60 * kSecondMs);
  const WhatifResult queue = recording.Ask(
      cut, {"{ set_queue: { name: a, limit: { gpu: 16 } } }", "{ add_node: { like: n-0 } }"});
  CHECK(JobOf(queue.changed, "second").start == 15 * 60 * kSecondMs);
  const Books& books = queue.changed.engine->state().books();
  for (std::size_t q = 0; q < books.queues.size(); ++q) {
    if (books.queues.spec(QueueId(q)).name == "a") {
      CHECK(books.queues.spec(QueueId(q)).weight == 3);
    }
  }
  const WhatifResult policies =
      recording.Ask(cut, {"{ set_policies: { backfill: { mode: conservative } } }"});
  CHECK(policies.changed.engine->state().books().config.reservations.mode ==
        ReservationSettings::Mode::kAll);
  CHECK(policies.changed.engine->state().books().config.reservations.count == 2);
  const WhatifResult job = recording.Ask(cut, {"{ set_job: { name: second, queue: b } }"});
  CHECK(JobOf(job.changed, "second").queue == "b");
  CHECK(JobOf(job.changed, "second").arrival == 10 * 60 * kSecondMs);
  CHECK(JobOf(job.changed, "second").end - JobOf(job.changed, "second").start == kHourMs);
}

TEST_CASE("Whatif: jobs that are added or removed, later jobs too") {
  Recording recording(kTwoQueues);
  const WhatifResult result =
      recording.Ask(Recording::After(15 * 60 * kSecondMs),
                    {"[{ add_job: { name: more, queue: b, gpus: 8, runtime: 30m, at: 5m } }, "
                     "{ remove_job: first }, { remove_job: third }]"});
  CHECK(JobOf(result.changed, "first").state == JobState::kRemoved);
  CHECK(JobOf(result.changed, "first").end == 15 * 60 * kSecondMs);
  CHECK(JobOf(result.changed, "more").arrival == 20 * 60 * kSecondMs);
  bool gone = false;
  for (const JobDifference& one : result.differences) {
    gone = gone || (one.after == nullptr && one.before->name == "third");
  }
  CHECK(gone);
}

TEST_CASE("Whatif: what a change says is not unsaid by what was recorded later") {
  Recording recording(kTwoQueues + R"(
events:
  - { at: 20m, cordon: n-0 }
  - { at: 25m, uncordon: n-0 }
  - { at: 30m, set_queue: { name: a, limit: { gpu: 4 } } }
  - { at: 40m, set_policies: {} }
)");
  const WhatifResult result =
      recording.Ask(Recording::After(15 * 60 * kSecondMs),
                    {"{ remove_node: n-0 }", "{ set_queue: { name: a, limit: { gpu: 16 } } }",
                     "{ set_policies: { backfill: { mode: conservative } } }"});
  const Books& books = result.changed.engine->state().books();
  CHECK(books.hardware.total()[kGpu] == 8 * kWholeGpu);
  CHECK(books.config.reservations.mode == ReservationSettings::Mode::kAll);
  for (std::size_t q = 0; q < books.queues.size(); ++q) {
    const QueueSpec& queue = books.queues.spec(QueueId(q));
    if (queue.name == "a") CHECK(queue.limit[kGpu] == 16 * kWholeGpu);
  }
}

TEST_CASE("Whatif: an error in a change names its place and what was expected") {
  Recording recording(kTwoQueues);
  const auto wrong = [&](const std::string& change) {
    return std::string(recording.TryToAsk(Recording::After(1), {change}).status().message());
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(wrong("{ set_polices: {} }"), Contains("--change:1") && Contains("set_polices"));
  CHECK_THAT(wrong("{ set_policies: { backfill: { mode: fast } } }"),
             Contains("set_policies.backfill.mode") && Contains("fast") && Contains("easy"));
  CHECK_THAT(wrong("{ remove_node: n-9 }"), Contains("n-9") && Contains("a node"));
  CHECK_THAT(wrong("{ add_node: { like: n-9 } }"), Contains("n-9") && Contains("a node"));
  CHECK_THAT(wrong("{ remove_job: fourth }"), Contains("fourth") && Contains("a job"));
  CHECK_THAT(wrong("{ set_job: { name: fourth, queue: a } }"), Contains("a job"));
  CHECK_THAT(wrong("{ add_job: { name: first, gpus: 1 } }"), Contains("a unique name"));
  CHECK_THAT(wrong("{ add_job: { name: x, gpus: 1, gpu_models: [T5] } }"), Contains("T5"));
  CHECK_THAT(wrong("[{ remove_node: n-0, cordon: n-1 }]"),
             Contains("[0]") && Contains("one change"));
  CHECK_THAT(wrong("easy"), Contains("--change:1"));
}

TEST_CASE("Whatif: a file that is no journal, and a moment that it does not have, are refused") {
  const ScratchFile file("cluster: {}\n");
  WhatifOptions options;
  options.path = file.path();
  CHECK(RunWhatif(options).status().code() == absl::StatusCode::kDataLoss);
  options.path = file.path() + "-not";
  CHECK(RunWhatif(options).status().code() == absl::StatusCode::kInvalidArgument);
  Recording recording(kTwoQueues);
  const absl::Status late = recording.TryToAsk(Recording::After(100 * kHourMs), {}).status();
  CHECK_THAT(std::string(late.message()), Catch::Matchers::Contains("expected at most the"));
}

// The facts of a real cluster: pods with their own names, calendar times.
class LiveJournal {
 public:
  static constexpr TimeMs kNoon = 1'790'000'000'000;

  LiveJournal() : writer_(out_, "live") {}

  void Tell(const Event& event) {
    REQUIRE(writer_.Record(event).ok());
    REQUIRE(engine_.Apply(event).ok());
  }
  void Cycle(TimeMs now) {
    writer_.RecordTick(now);
    writer_.RecordPlan(engine_.Tick(now), engine_.state().books());
  }
  // Another version of the engine would have decided so.
  void CycleOfAnother(TimeMs now) {
    writer_.RecordTick(now);
    writer_.RecordPlan({}, engine_.state().books());
    engine_.Tick(now);
  }
  // The pod `uid` is the task of that index.
  void Pod(const std::string& job, int index, const std::string& uid, TaskPhase phase,
           TimeMs started = 0) {
    TaskUpserted fact;
    fact.task.uid = uid;
    fact.task.job = job;
    fact.task.role = "worker";
    fact.task.index = index;
    fact.task.phase = phase;
    fact.task.started = started;
    if (phase == TaskPhase::kRunning) fact.task.node = "a";
    fact.version = ++version_;
    Tell(fact);
  }
  void Job(const std::string& uid, int tasks, TimeMs created, bool pods_exist,
           DurationMs expected = 0) {
    JobUpserted fact{AJob(uid).Role("worker", tasks, APod().Gpus(4)), ++version_};
    fact.job.queue = "q";
    fact.job.created = created;
    fact.job.pods_exist = pods_exist;
    fact.job.gang.min_member = tasks;
    fact.job.estimated_runtime_ms = expected;
    Tell(fact);
  }
  WhatifResult Ask(const Cut& cut, const std::vector<std::string>& changes = {}) {
    REQUIRE(writer_.Close().ok());
    const ScratchFile file(out_.str(), ".journal");
    WhatifOptions options;
    options.path = file.path();
    options.cut = cut;
    for (const std::string& change : changes) options.changes.push_back({kChangeArgument, change});
    auto result = RunWhatif(options);
    INFO(result.status().message());
    REQUIRE(result.ok());
    return *std::move(result);
  }

 private:
  std::ostringstream out_;
  JournalWriter writer_;
  Engine engine_{DefaultAssembly()};
  std::uint64_t version_ = 100;
};

// One node of 8 GPUs: a job runs since an hour ago and one waits.
void TellCluster(LiveJournal& live) {
  constexpr TimeMs kNoon = LiveJournal::kNoon;
  live.Tell(ConfigChanged{});
  live.Tell(NodeUpserted{ANode("a").Gpus(8), 1});
  QueueUpserted queue;
  queue.queue.name = "q";
  queue.version = 2;
  live.Tell(queue);
  live.Job("runs", 2, kNoon - 2 * kHourMs, true);
  live.Pod("runs", 0, "pod-0", TaskPhase::kRunning, kNoon - kHourMs);
  live.Pod("runs", 1, "pod-1", TaskPhase::kRunning, kNoon - kHourMs);
  live.Job("waits", 1, kNoon - 3 * kHourMs / 2, true, kHourMs);
  live.Pod("waits", 0, "pod-2", TaskPhase::kPending);
}

TEST_CASE("Whatif: the state of a running engine continues, with waits from submission") {
  LiveJournal live;
  TellCluster(live);
  live.Cycle(LiveJournal::kNoon);
  // Recorded later: what runs ends half an hour after noon.
  live.Pod("runs", 0, "pod-0", TaskPhase::kSucceeded);
  live.Pod("runs", 1, "pod-1", TaskPhase::kSucceeded);
  live.Cycle(LiveJournal::kNoon + kHourMs / 2);
  live.Pod("waits", 0, "pod-2", TaskPhase::kRunning, LiveJournal::kNoon + kHourMs / 2);
  live.Cycle(LiveJournal::kNoon + kHourMs / 2 + 1);
  const WhatifResult result = live.Ask(Recording::After(0), {"{ add_node: { like: a, name: b } }"});
  CHECK(result.running == 1);
  CHECK(result.waiting == 1);
  CHECK(result.runs.recorded == 1);
  CHECK(result.runs.expected == 1);
  const JobOutcome& as_is = JobOf(result.as_is, "waits");
  CHECK(as_is.start - as_is.arrival == 2 * kHourMs);
  CHECK(as_is.end - as_is.start == kHourMs);
  CHECK(as_is.start == result.cut + kHourMs / 2);
  CHECK(result.reproduced.same_starts == 1);
  const JobOutcome& changed = JobOf(result.changed, "waits");
  CHECK(changed.start == result.cut);
  CHECK(changed.where == "b");
  CHECK(JobOf(result.changed, "runs").end == result.cut + kHourMs / 2);
  CHECK(result.as_is.engine->state().CheckBooks().empty());
}

TEST_CASE("Whatif: jobs of which no end is known run on, or as long as is assumed") {
  LiveJournal live;
  TellCluster(live);
  live.Cycle(LiveJournal::kNoon);
  const WhatifResult result = live.Ask(Recording::From("end"));
  CHECK(result.runs.unknown == 1);
  CHECK(JobOf(result.as_is, "runs").end == -1);
  CHECK(JobOf(result.as_is, "waits").start == -1);
}

TEST_CASE("Whatif: if this version decides differently, only facts are used, with a warning") {
  LiveJournal live;
  TellCluster(live);
  live.CycleOfAnother(LiveJournal::kNoon);
  live.Tell(NodeUpserted{ANode("b").Gpus(8), 200});
  live.CycleOfAnother(LiveJournal::kNoon + 1);
  const WhatifResult result = live.Ask(Recording::From("end"));
  CHECK(result.decided_otherwise);
  CHECK(JobOf(result.as_is, "runs").start >= 0);
  CHECK(JobOf(result.as_is, "waits").start == result.cut);
  CHECK(JobOf(result.as_is, "waits").where == "b");
}

}  // namespace
}  // namespace tephra
