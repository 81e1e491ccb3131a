#include "simulations/workload/trace_workload.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "simulations/workload/simulation_file.h"

namespace tephra {
namespace {

// A trace in a file of its own, gone at the end.
class TraceFile {
 public:
  explicit TraceFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("trace-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)))) {
    std::ofstream(path_) << text;
  }
  ~TraceFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::vector<Arrival> All(Arrivals& arrivals) {
  std::vector<Arrival> all;
  Arrival arrival;
  while (true) {
    const auto more = arrivals.Next(arrival);
    REQUIRE(more.ok());
    if (!*more) return all;
    all.push_back(arrival);
  }
}

Simulation Read(const std::string& text) {
  auto read = ParseSimulation("f", text);
  INFO(read.status().message());
  REQUIRE(read.ok());
  return *std::move(read);
}

const std::string kPhilly = "id,vc,gpu,submit,dur\n";
const std::string kCluster = "cluster: { nodes: 4, gpus_per_node: 8 }\n";

TEST_CASE("Trace workload: a job of GPUs is whole nodes and one task of the rest, all or nothing") {
  const TraceFile file(kPhilly + "a,x,1,5,0\nb,y,20,6,30\nc,x,16,7,30\nd,x,33,8,1\n");
  Simulation simulation = Read(kCluster + "workload: { trace: { file: " + file.path() +
                               ", min_runtime: 1s, partition_label: vc, estimate: actual } }\n");
  CHECK(simulation.queues_of_jobs);
  const auto arrivals = TakeArrivals(simulation);
  REQUIRE(arrivals.ok());
  const std::vector<Arrival> jobs = All(**arrivals);
  REQUIRE(jobs.size() == 3);  // 33 GPUs are more than there are
  CHECK((*arrivals)->reading()->records == 4);
  CHECK((*arrivals)->reading()->faults.of(TraceFaultKind::kTooLarge).skipped == 1);
  CHECK(jobs[0].at == 5000);
  CHECK(jobs[0].run == 1000);
  CHECK(jobs[0].job.estimated_runtime_ms == 1000);
  CHECK(jobs[0].job.queue == "x");
  CHECK(jobs[0].job.uid < jobs[1].job.uid);
  const GangSpec& twenty = jobs[1].job.gang;
  REQUIRE(twenty.roles.size() == 2);
  CHECK(twenty.roles[0].replicas == 2);
  CHECK(twenty.roles[0].pod.containers[0].devices.count == 8);
  CHECK(twenty.roles[1].replicas == 1);
  CHECK(twenty.roles[1].pod.containers[0].devices.count == 4);
  CHECK(twenty.roles[1].pod.constraints.selector.at("vc") == "y");
  CHECK(twenty.min_member == 3);
  CHECK(jobs[2].job.gang.roles.size() == 1);
}

TEST_CASE("Trace workload: what SWF says gives the machine, estimates and run times") {
  const std::string end = " -1 1 1 1 -1 -1 -1 -1 -1\n";
  const TraceFile file("; MaxProcs: 10\n1 0 -1 90 6 -1 -1 6 60" + end + "2 1 -1 -1 10 -1 -1 10 30" +
                       end + "3 2 -1 5 1 -1 -1 1 -1" + end);
  const std::string trace =
      "workload: { trace: { file: " + file.path() + ", clamp_to_requested: true";
  Simulation alone = Read(trace + " } }\n");
  CHECK(alone.nodes.size() == 10);
  Simulation simulation = Read(trace + ", node_size: 4 } }\n");
  REQUIRE(simulation.nodes.size() == 3);
  CHECK(simulation.nodes[2].allocatable[kCpu] == 2000);
  const auto arrivals = TakeArrivals(simulation);
  REQUIRE(arrivals.ok());
  const std::vector<Arrival> jobs = All(**arrivals);
  REQUIRE(jobs.size() == 3);
  CHECK(jobs[0].run == 60'000);  // it would have been ended then
  CHECK(jobs[0].job.estimated_runtime_ms == 60'000);
  CHECK(jobs[0].job.gang.roles[0].pod.containers[0].requests[kCpu] == 4000);
  CHECK(jobs[0].job.gang.roles[1].pod.containers[0].requests[kCpu] == 2000);
  CHECK(jobs[1].run == 30'000);  // not known: as requested
  CHECK(jobs[2].job.estimated_runtime_ms == 0);
}

TEST_CASE("Trace workload: an SWF header with fewer nodes than processors gives the size of a node") {
  const TraceFile file("; MaxProcs: 22\n; MaxNodes: 3\n1 0 -1 90 20 -1 -1 20 60 -1 1 1 1 -1 -1 -1 -1 -1\n");
  const std::string trace = "workload: { trace: { file: " + file.path();
  const auto cpus = [](Simulation simulation) {
    std::vector<std::int64_t> of_tasks;
    for (const RoleSpec& role : All(**TakeArrivals(simulation))[0].job.gang.roles) {
      const std::int64_t cpu = role.pod.containers[0].requests[kCpu] / 1000;
      of_tasks.insert(of_tasks.end(), static_cast<std::size_t>(role.replicas), cpu);
    }
    return of_tasks;
  };
  const Simulation alone = Read(trace + " } }\n");
  REQUIRE(alone.nodes.size() == 3);
  CHECK(alone.nodes[0].allocatable[kCpu] == 8000);
  CHECK(alone.nodes[2].allocatable[kCpu] == 6000);
  CHECK(cpus(Read(trace + " } }\n")) == std::vector<std::int64_t>{8, 8, 4});
  CHECK(cpus(Read(trace + ", node_size: 10 } }\n")) == std::vector<std::int64_t>{10, 10});
  // No node of the file is that large: a processor is a task.
  const std::string small = "cluster: { nodes: [{ name: n, count: 22, cpu: 1 }] }\n";
  CHECK(cpus(Read(small + trace + " } }\n")) == std::vector<std::int64_t>(20, 1));
}

TEST_CASE("Trace workload: a job of Alea without a property goes anywhere, whatever its queue") {
  const std::string rest = " 0 60 1 60 1 1 600 1 1 0 1 -1 7 -1 -1 -1 0 60 ";
  const TraceFile file("; Version: 1.0\n1 5" + rest + "all\n2 6" + rest + "normal\n");
  Simulation simulation = Read(kCluster + "workload: { trace: { file: " + file.path() +
                               ", format: alea, partition_label: property } }\n");
  const std::vector<Arrival> jobs = All(**TakeArrivals(simulation));
  REQUIRE(jobs.size() == 2);
  CHECK_FALSE(jobs[0].job.queue.empty());
  CHECK(jobs[0].job.gang.roles[0].pod.constraints.selector.empty());
  CHECK(jobs[1].job.gang.roles[0].pod.constraints.selector.at("property") == "normal");
}

TEST_CASE("Trace workload: a load divides the times of submission, of a trace and of a model") {
  const TraceFile file(kPhilly + "a,x,1,5,60\nb,x,1,4000000000,60\n");
  const auto times = [](const std::string& text) {
    Simulation simulation = Read(kCluster + text);
    const auto arrivals = TakeArrivals(simulation);
    REQUIRE(arrivals.ok());
    std::vector<TimeMs> all;
    for (const Arrival& arrival : All(**arrivals)) {
      CHECK(arrival.job.created == arrival.at);
      CHECK(arrival.run == 60'000);
      all.push_back(arrival.at);
    }
    return all;
  };
  const std::string trace = "workload: { trace: { file: " + file.path() + ", load: ";
  CHECK(times(trace + "1.25 } }\n") == std::vector<TimeMs>{4000, 3'200'000'000'000});
  CHECK(times(trace + "0.5 } }\n")[0] == 10'000);
  const std::string model =
      "workload: { generate: { jobs: 3, mean_interarrival: 1h, gpus: [{ gpus: 1 }], mean_runtime: "
      "60s, min_runtime: 60s";
  const auto last = [&](const std::string& load) {
    Simulation simulation = Read(kCluster + model + load + " } }\n");
    return All(**TakeArrivals(simulation)).back().at;
  };
  CHECK(last(", load: 2") == last("") / 2);
  CHECK_FALSE(ParseSimulation("f", kCluster + trace + "0 } }\n").ok());
}

TEST_CASE("Trace workload: without a cluster a trace that tells no machine is refused") {
  const TraceFile file(kPhilly + "a,x,1,5,9\n");
  const auto read = ParseSimulation("f", "workload: { trace: { file: " + file.path() + " } }\n");
  CHECK(read.status().message() ==
        file.path() +
            ": the trace does not describe its machine, expected a cluster section in the file");
}

TEST_CASE("Trace workload: a strict reader refuses the first line that it would skip") {
  const TraceFile file(kPhilly + "a,x,0,5,9\n");
  const std::string text = kCluster + "workload: { trace: { file: " + file.path();
  CHECK(ParseSimulation("f", text + " } }\n").ok());
  const auto strict = ParseSimulation("f", text + ", strict: true } }\n");
  CHECK(strict.status().message() == file.path() + ":2: gpu: \"0\", expected at least 1 GPU");
}

}  // namespace
}  // namespace tephra
