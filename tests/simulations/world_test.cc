#include "simulations/world.h"

#include <map>

#include <catch2/catch.hpp>

#include "plugins/registry.h"
#include "simulations/workload/simulation_file.h"

namespace tephra {
namespace {

// Runs a simulation and keeps how each job ended.
class Run final : public WorldListener {
 public:
  explicit Run(const std::string& text, bool ends_well = true) {
    auto read = ParseSimulation("f", text);
    REQUIRE(read.ok());
    auto arrivals = TakeArrivals(*read);
    REQUIRE(arrivals.ok());
    Engine engine(DefaultAssembly());
    World world(std::move(*read), std::move(*arrivals), engine.state(), this);
    TimeMs last = 0;
    while (auto batch = world.Next()) {
      CHECK(batch->time >= last);
      last = batch->time;
      for (const Event& event : batch->events) {
        const absl::Status status = engine.Apply(event);
        INFO(status.message());
        CHECK(status.ok());
      }
      world.Execute(engine.Tick(batch->time));
      CHECK(engine.state().CheckBooks().empty());
    }
    status = world.status();
    if (ends_well) CHECK(status.ok());
    end = world.now();
    for (const JobRecord* job : world.Jobs()) left[job->name] = *job;
    free_gpu = engine.state().books().occupancy.free_total()[kGpu];
  }

  void JobEnded(const JobRecord& job) override { ended[job.name] = job; }

  std::map<std::string, JobRecord> ended, left;
  absl::Status status;
  TimeMs end = 0;
  std::int64_t free_gpu = 0;
};

const std::string kMachines = "cluster: { nodes: 2, gpus_per_node: 4 }\n";

TEST_CASE("World: tasks run for their time, and what waited starts then") {
  const Run run(kMachines + R"(
jobs:
  - { name: a, members: 8, gpus: 1, at: 0s, runtime: 10s }
  - { name: b, members: 8, gpus: 1, at: 1s, runtime: 5s }
)");
  CHECK(run.left.empty());
  CHECK(run.ended.at("a").end == 10'000);
  CHECK(run.ended.at("b").start == 10'000);
  CHECK(run.ended.at("b").end == 15'000);
  CHECK(run.end == 15'000);
  CHECK(run.free_gpu == 8000);
}

TEST_CASE("World: a job without a run time never ends") {
  const Run run(kMachines + "jobs: [{ name: a, gpus: 1 }]\n");
  REQUIRE(run.left.contains("a"));
  CHECK(run.left.at("a").tasks[0].running);
  CHECK(*run.left.at("a").tasks[0].node == "n-0");
}

TEST_CASE("World: dropped jobs go in the cycle of their arrival") {
  const Run run(kMachines + R"(
workload:
  unschedulable: drop
  jobs:
    - { name: a, members: 8, gpus: 1, at: 0s, runtime: 10s }
    - { name: b, gpus: 1, at: 1s }
    - { name: c, gpus: 1, at: 11s }
)");
  CHECK(run.ended.at("b").dropped);
  CHECK(run.ended.at("b").end == 1000);
  CHECK(run.left.contains("c"));
}

TEST_CASE("World: a task that fails is started again, and its old end is void") {
  const Run run(kMachines + R"(
jobs: [{ name: a, members: 2, gpus: 1, runtime: 10s }]
events: [{ at: 4s, fail_task: a/worker/1 }]
)");
  const JobRecord& job = run.ended.at("a");
  CHECK(job.tasks[0].finish == 10'000);
  CHECK(job.tasks[1].attempts == 2);
  CHECK(job.tasks[1].start == 4000);
  CHECK(job.tasks[1].finish == 14'000);
  CHECK(job.end == 14'000);
}

TEST_CASE("World: the tasks of a node that goes are wanted again elsewhere") {
  const Run run(kMachines + R"(
jobs: [{ name: a, members: 2, gpus: 1, runtime: 10s }]
events: [{ at: 4s, remove_node: n-0 }]
)");
  const JobRecord& job = run.ended.at("a");
  CHECK(*job.tasks[0].node == "n-1");
  CHECK(job.end == 14'000);
}

TEST_CASE("World: a removed job leaves its room to other jobs") {
  const Run run(kMachines + R"(
jobs:
  - { name: a, members: 8, gpus: 1, at: 0s }
  - { name: b, members: 8, gpus: 1, at: 1s }
events: [{ at: 5s, remove_job: a }]
)");
  CHECK(run.ended.at("a").removed);
  CHECK(run.left.at("b").start == 5000);
}

TEST_CASE(
    "World: nodes that come, are cordoned and opened, and queues that close change what fits") {
  const Run run(kMachines + R"(
queues: [{ name: q }]
jobs:
  - { name: a, queue: q, members: 3, gpus: 4, at: 0s }
  - { name: b, queue: q, gpus: 4, at: 20s }
  - { name: c, gpus: 4, at: 30s }
events:
  - { at: 5s, add_node: { name: x, gpus: 4 } }
  - { at: 10s, close_queue: q }
  - { at: 15s, add_node: { name: y, gpus: 4, unschedulable: true } }
  - { at: 25s, uncordon: y }
  - { at: 40s, open_queue: q }
)");
  CHECK(run.left.at("a").start == 5000);
  CHECK(run.left.at("b").start == -1);
  CHECK(run.left.at("b").reason->obstacle == Obstacle::kRoom);
  CHECK(*run.left.at("c").tasks[0].node == "y");
}

TEST_CASE("World: a job that shrinks ends the tasks that it no longer has") {
  const Run run(kMachines + R"(
jobs:
  - { name: a, members: 8, gpus: 1, runtime: 1m }
  - { name: b, members: 4, gpus: 1, at: 1s, runtime: 10s }
events: [{ at: 5s, set_job: { name: a, members: 4, gpus: 1 } }]
)");
  CHECK(run.ended.at("a").tasks.size() == 4);
  CHECK(run.ended.at("b").start == 5000);
  CHECK(run.ended.at("a").end == 60'000);
}

TEST_CASE("World: nothing happens after `until`, and time passes up to it") {
  const Run run(kMachines +
                "jobs: [{ name: a, gpus: 1, runtime: 1m }, { name: b, at: 2m }]\nuntil: 30s\n");
  CHECK(run.end == 30'000);
  CHECK(run.left.at("a").tasks[0].running);
  CHECK_FALSE(run.left.contains("b"));
}

TEST_CASE("World: foreign pods hold room until they end") {
  const Run run(kMachines + R"(
jobs: [{ name: a, members: 2, gpus: 4, at: 1s }]
events:
  - { at: 0s, run_pod: { name: p, node: n-1, gpus: 1 } }
  - { at: 9s, end_pod: p }
)");
  CHECK(run.left.at("a").start == 9000);
}

// One job of 8 tasks runs 100 s; at 50 s a job of higher priority evicts it for 10 s.
std::string Evicted(const std::string& restarts) {
  return kMachines + R"(
jobs:
  - { name: a, members: 8, gpus: 1, runtime: 100s, estimated_runtime: 100s }
  - { name: b, members: 8, gpus: 1, at: 50s, runtime: 10s, priority: 1 }
)" + restarts;
}

TEST_CASE("World: of the work of an evicted gang what was saved at checkpoints is kept") {
  const JobRecord none = Run(Evicted("")).ended.at("a");
  CHECK(none.end == 160'000);
  CHECK(none.lost_gpu_ms == 8 * 1000 * 50'000);
  const JobRecord some = Run(Evicted("restarts: { checkpoint_interval: 20s }\n")).ended.at("a");
  CHECK(some.end == 120'000);
  CHECK(some.lost_gpu_ms == 8 * 1000 * 10'000);
  const JobRecord all = Run(Evicted("restarts: { checkpoint_interval: 0s }\n")).ended.at("a");
  CHECK(all.end == 110'000);
  CHECK(all.lost_gpu_ms == 0);
  for (const JobRecord& job : {none, some, all}) {
    CHECK(job.evictions == 1);
    CHECK(job.restarts == 1);
    CHECK(job.start == 0);
  }
}

TEST_CASE("World: a start takes its delay, by the GPUs of the job, and a restart another") {
  const Run run(Evicted(R"(
restarts:
  checkpoint_interval: 0s
  start_delay: [{ gpus: 4, delay: 1s }, { gpus: 8, delay: 2s }, { delay: 3s }]
  restart_delay: 7s
)"));
  CHECK(run.ended.at("b").end == 62'000);
  CHECK(run.ended.at("a").end == 62'000 + 7000 + 52'000);  // 48 s were done
}

TEST_CASE("World: a failed task restarts alone, or with its gang if so configured") {
  const auto job = [](const std::string& how) {
    return Run(kMachines + "jobs: [{ name: a, members: 2, gpus: 1, runtime: 10s" + how +
               " }]\nevents: [{ at: 4s, fail_task: a/worker/1 }]\n")
        .ended.at("a");
  };
  CHECK(job("").tasks[0].finish == 10'000);
  const JobRecord whole = job(", on_failure: gang");
  CHECK(whole.tasks[0].finish == 14'000);
  CHECK(whole.tasks[0].attempts == 2);
  CHECK(whole.failures == 1);
  CHECK(whole.restarts == 1);
}

TEST_CASE("World: a task that can never finish ends the simulation with an error") {
  const Run run(
      "cluster: { nodes: 1 }\njobs: [{ name: long, runtime: 10h }]\n"
      "failures: { tasks: { mtbf: 1s } }\n",
      false);
  CHECK(absl::IsResourceExhausted(run.status));
  const std::string error(run.status.message());
  INFO(error);
  CHECK(error.find("f: job \"long\": its task long/worker/0") == 0);
  CHECK(error.find("expected a longer failures.tasks.mtbf") != std::string::npos);
}

TEST_CASE("World: nodes and tasks that fail by chance cost time, and all ends nevertheless") {
  const std::string jobs = "jobs: [{ name: j, copies: 20, members: 4, gpus: 1, runtime: 1h }]\n";
  const Run sound(kMachines + jobs);
  const Run failing(kMachines + jobs +
                    "failures: { seed: 3, nodes: { mtbf: 5h, mttr: 20m }, tasks: { mtbf: 9h } }\n");
  CHECK(sound.end == 10 * 3600 * kSecondMs);
  CHECK(failing.end > sound.end);
  CHECK(failing.ended.size() == 20);
  std::int32_t failures = 0;
  for (const auto& [name, job] : failing.ended) failures += job.failures;
  CHECK(failures > 0);
  const Run again(kMachines + jobs +
                  "failures: { seed: 3, nodes: { mtbf: 5h, mttr: 20m }, tasks: { mtbf: 9h } }\n");
  CHECK(again.end == failing.end);
}

TEST_CASE("World: jobs behind the head of a fifo queue start at the same time without notices") {
  for (const std::string order : {"fifo", "sjf", "srtf"}) {
    std::string jobs =
        "queues:\n  - { name: a, dequeue_strategy: fifo }\n"
        "  - { name: b, dequeue_strategy: fifo }\n  - { name: c }\njobs:\n";
    std::uint64_t dice = 7;
    const auto roll = [&](std::uint64_t sides) {
      dice = dice * 6364136223846793005u + 1442695040888963407u;
      return (dice >> 33) % sides;
    };
    for (int j = 0; j < 150; ++j) {
      const std::string run = std::to_string(1 + roll(200)) + "s";
      jobs += "  - { name: j" + std::to_string(j) + ", queue: " + std::string(1, "abc"[roll(3)]) +
              ", members: " + std::to_string(1 + roll(3)) +
              ", min: 1, gpus: " + std::to_string(1 + roll(4)) +
              ", at: " + std::to_string(roll(2000)) + "s, runtime: " + run +
              ", estimated_runtime: " + run + ", priority: " + std::to_string(roll(2)) + " }\n";
    }
    const std::string policies = "policies: { job_order: " + order + ", report_job_ahead: ";
    const Run noticed(kMachines + jobs + policies + "true }\n");
    const Run silent(kMachines + jobs + policies + "false }\n");
    REQUIRE(noticed.ended.size() == 150);
    for (const auto& [name, job] : noticed.ended) {
      INFO(order << " " << name);
      CHECK(silent.ended.at(name).start == job.start);
      CHECK(silent.ended.at(name).end == job.end);
    }
  }
}

}  // namespace
}  // namespace tephra
