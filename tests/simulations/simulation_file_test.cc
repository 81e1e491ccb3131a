#include "simulations/workload/simulation_file.h"

#include <catch2/catch.hpp>

#include "base/fields.h"

namespace tephra {
namespace {

const std::string kCluster = "cluster: { nodes: 2, gpus_per_node: 8 }\n";

std::string FileError(const std::string& text) {
  const auto simulation = ParseSimulation("f", text);
  return simulation.ok() ? "" : std::string(simulation.status().message());
}

TEST_CASE("simulation: the short form gives nodes, queues and flat jobs") {
  const auto read = ParseSimulation("f", kCluster + R"(
queues: [{ name: research, weight: 3 }]
jobs:
  - { name: late, queue: research, members: 4, gpus: 1, at: 1m }
  - { name: early, queue: research, members: 17, min: 2, gpus: 1, at: 0s, runtime: 90s, priority: -4 }
)");
  REQUIRE(read.ok());
  REQUIRE(read->nodes.size() == 2);
  CHECK(read->nodes[1].name == "n-1");
  CHECK(read->nodes[0].devices.size() == 8);
  CHECK(read->nodes[0].labels.at(kHostnameKey) == "n-0");
  CHECK(read->queues.size() == 2);  // "default" is always there
  REQUIRE(read->jobs.size() == 2);
  const Arrival& early = read->jobs[0];  // by time
  CHECK(early.job.name == "early");
  CHECK(early.run == 90'000);
  CHECK(early.job.priority == -4);
  CHECK(early.job.gang.min_member == 2);
  CHECK(early.job.gang.roles[0].replicas == 17);
  CHECK_FALSE(read->jobs[1].run.has_value());
  CHECK(read->jobs[1].job.gang.min_member == 4);
  CHECK(read->jobs[1].job.created == 60'000);
}

TEST_CASE("simulation: queues that do not say how jobs leave them do as policies say") {
  const std::string fifo = kCluster + "policies: { dequeue_strategy: fifo }\n";
  const auto named = ParseSimulation(
      "f", fifo + "queues: [{ name: a }, { name: b, dequeue_strategy: traverse }]\n");
  REQUIRE(named.ok());
  REQUIRE(named->queues.size() == 3);
  CHECK(named->queues[0].dequeue == Dequeue::kFifo);
  CHECK(named->queues[1].dequeue == Dequeue::kTraverse);
  CHECK(named->queues[2].dequeue == Dequeue::kFifo);  // default
  const auto of_jobs = ParseSimulation("f", fifo + "jobs: [{ name: j, queue: q, gpus: 1 }]\n");
  REQUIRE(of_jobs.ok());
  CHECK(of_jobs->queues[1].dequeue == Dequeue::kFifo);
  CHECK(ParseSimulation("f", kCluster)->queues[0].dequeue == Dequeue::kTraverse);
  CHECK(FileError(fifo + "events: [{ at: 1s, set_policies: { dequeue_strategy: fifo } }]\n")
            .find("set_queue") != std::string::npos);
}

TEST_CASE("simulation: domains that are no forest, or name what is not there, are a fault") {
  const std::string two = "cluster: { nodes: 2, domains: [";
  CHECK(FileError(two + "{ name: a, nodes: [n-0] }] }\n") == "");
  CHECK(FileError(two + "{ name: a, nodes: [n-7] }] }\n") ==
        "f:1: cluster.domains[0].nodes: \"n-7\", expected a node of this file");
  CHECK(FileError(two + "{ name: a, nodes: [n-0] }, { name: b, nodes: [n-0] }] }\n")
            .find("node \"n-0\" is in domains \"a\" and \"b\"") != std::string::npos);
  CHECK(FileError(two + "{ name: a, domains: [b] }, { name: b, domains: [a] }] }\n")
            .find("expected a part of a lower tier") != std::string::npos);
  CHECK(FileError(two + "{ name: a, domains: [c] }] }\n").find("not c") != std::string::npos);
  CHECK(FileError(two + "{ name: a }, { name: a }] }\n").find("cluster.domains[1].name") !=
        std::string::npos);
}

TEST_CASE("simulation: how near a job's tasks are to be is said in Volcano's words") {
  const auto job = [](const std::string& topology) {
    return kCluster + "jobs: [{ name: j, gpus: 1, network_topology: {" + topology + "} }]\n";
  };
  const auto read = ParseSimulation("f", job("mode: hard, highest_tier_allowed: 2"));
  REQUIRE(read.ok());
  CHECK(read->jobs[0].job.locality == Locality{Locality::Mode::kRequired, 2, ""});
  CHECK(FileError(job("mode: soft")) == "");
  CHECK(FileError(job("mode: near")).find("\"near\", expected hard or soft") != std::string::npos);
  CHECK(FileError(job("mode: hard")).find("highest_tier_allowed or highest_tier_name") !=
        std::string::npos);
  CHECK(FileError(job("highest_tier_allowed: 1, highest_tier_name: rack")).find("not both") !=
        std::string::npos);
  CHECK(FileError(job("highest_tier_allowed: -1")).find("highest_tier_allowed") !=
        std::string::npos);
}

TEST_CASE("simulation: the long form gives every field of nodes and pods") {
  const auto read = ParseSimulation("f", R"(
cluster:
  nodes:
    - name: rack
      count: 2
      cpu: 64
      memory: 256Gi
      pods: 20
      resources: { example.com/port: 4 }
      gpus: { count: 2, model: H100, memory: 80Gi }
      labels: { zone: z1 }
      taints: [{ key: k, value: v, effect: NoExecute }]
    - name: odd
      unschedulable: true
      devices: [{ model: T4, memory: 16Gi, healthy: false }, { model: H100 }]
jobs:
  - name: j
    min_member: 2
    roles:
      - name: ps
        replicas: 1
        cpu: 500m
        resources: { example.com/port: 2 }
      - name: worker
        replicas: 3
        min: 1
        containers:
          - { name: load, kind: init, cpu: 1, gpus: 2 }
          - { name: log, kind: sidecar, memory: 1Gi }
          - { name: train, gpu_share: 0.25, gpu_memory: 10Gi }
        overhead: { cpu: 100m }
        gpu_models: H100
        node_selector: { zone: z1 }
        affinity:
          - match_expressions: [{ key: zone, operator: In, values: [z1, z2] }]
            match_fields: [{ key: metadata.name, operator: NotIn, values: [rack-1] }]
        tolerations: [{ key: k, operator: Exists, effect: NoExecute }]
        limits: [{ group: g, max: 2 }]
)");
  REQUIRE(read.ok());
  REQUIRE(read->nodes.size() == 3);
  CHECK(read->nodes[1].name == "rack-1");
  CHECK(read->nodes[0].allocatable[kFirstExtendedKind] == 4);
  CHECK(read->nodes[0].taints[0].effect == TaintEffect::kNoExecute);
  CHECK(read->nodes[2].unschedulable);
  CHECK_FALSE(read->nodes[2].devices[0].healthy);
  CHECK(read->extended_kinds == std::vector<std::string>{"example.com/port"});
  const GangSpec& gang = read->jobs[0].job.gang;
  CHECK(gang.min_member == 2);
  CHECK(gang.roles[0].min == 1);
  CHECK(gang.roles[0].pod.containers[0].requests[kCpu] == 500);
  const PodTemplate& pod = gang.roles[1].pod;
  REQUIRE(pod.containers.size() == 3);
  CHECK(pod.containers[0].kind == ContainerKind::kInit);
  CHECK(pod.containers[0].devices == DeviceRequest{2, 1000, 0});
  CHECK(pod.containers[2].devices == DeviceRequest{1, 250, 10 * 1024});
  CHECK(pod.overhead[kCpu] == 100);
  CHECK(pod.constraints.device_models == std::vector<std::string>{"H100"});
  CHECK(pod.constraints.affinity[0].fields[0].op == LabelRequirement::Operator::kNotIn);
  CHECK_FALSE(pod.constraints.tolerations[0].any_effect);
  CHECK(pod.limits[0] == DomainLimit{"g", kHostnameKey, 2});
}

TEST_CASE("simulation: a GPU ask is whole, a share, a slice of memory, or both of these") {
  const auto devices = [](const std::string& fields) {
    const auto read = ParseSimulation("f", kCluster + "jobs: [{ name: j, " + fields + " }]\n");
    REQUIRE(read.ok());
    return read->jobs[0].job.gang.roles[0].pod.containers[0].devices;
  };
  CHECK(devices("gpus: 2") == DeviceRequest{2, 1000, 0});
  CHECK(devices("gpu_share: 0.5") == DeviceRequest{1, 500, 0});
  CHECK(devices("gpu_share: 500m, gpus: 3") == DeviceRequest{3, 500, 0});
  CHECK(devices("gpu_memory: 4Gi") == DeviceRequest{1, 0, 4096});
  CHECK(devices("gpu_memory: 4Gi, gpu_share: 0.1") == DeviceRequest{1, 100, 4096});
  CHECK(devices("gpu_share: 0.5, mps: true") == DeviceRequest{1, 500, 0, Sharing::kMps});
  CHECK(devices("gpu_share: 0.5, time_slice: true") ==
        DeviceRequest{1, 500, 0, Sharing::kTimeSlice});
  CHECK(devices("mig: 1g.10gb, gpus: 2") == DeviceRequest{2, 0, 0, Sharing::kMig, "1g.10gb"});
  CHECK(devices("gpus: 0").count == 0);
  CHECK(devices("cpu: 1").count == 0);
}

TEST_CASE("simulation: how devices may be shared") {
  const auto read = ParseSimulation("f", R"(cluster:
  nodes:
    - name: a
      gpus: { count: 1, model: A100, memory: 40Gi, modes: [whole, mig], mig_model: A100-40GB }
    - name: b
      devices: [{ modes: [fraction, mps, time_slice], split_count: 3, mps_clients: 16, replicas: 4,
                  compute_factor: 1.5, memory_factor: 2 }]
)");
  INFO(read.status());
  REQUIRE(read.ok());
  const DeviceHardware& cut = read->nodes[0].devices[0];
  CHECK(cut.modes == (Only(SliceMode::kWhole) | Only(SliceMode::kMig)));
  CHECK(cut.mig_model == "A100-40GB");
  const DeviceHardware& shared = read->nodes[1].devices[0];
  CHECK(shared.modes == 0b01110);
  CHECK(shared.split_count == 3);
  CHECK(shared.mps_clients == 16);
  CHECK(shared.replicas == 4);
  CHECK(shared.compute_factor == 1500);
  CHECK(shared.memory_factor == 2000);
}

TEST_CASE("simulation: every fault names file, line, field, value and what was expected") {
  struct Case {
    std::string text, error;
  };
  const std::vector<Case> cases = {
      {kCluster + "jobs:\n  - { name: a, gpus: -2 }\n",
       "f:3: jobs[0].gpus: \"-2\", expected a whole number from 0 to 1024"},
      {kCluster + "jobs: [{ name: a, memory: -1Gi }]\n",
       "f:2: jobs[0].memory: \"-1Gi\", expected a quantity of at least 0 such as 2, 500m or 64Gi, "
       "at most 1000000000000000"},
      {kCluster + "failures: { tasks: { mtbf: 1ms } }\n",
       "f:2: failures.tasks.mtbf: \"1ms\", expected a duration of at least 1s"},
      {kCluster + "jobs:\n  - { name: a, gpus: 1, gpu_models: [H100] }\n",
       "f:3: jobs[0].gpu_models: \"H100\", expected no GPU model: no node of the cluster has one"},
      {kCluster + "jobs: [{ name: a }, { name: a }]\n",
       "f:2: jobs[1].name: \"a\", expected a unique name"},
      {kCluster + "queues:\n  - { name: a, parent: c }\n  - { name: b, parent: a }\n"
                  "  - { name: c, parent: b }\n",
       "f:3: queues[0].parent: \"c\", expected a parent that is not below this queue; the chain is "
       "a -> c -> b -> a"},
      {kCluster + "queues: [{ name: a, parent: a }]\n",
       "f:2: queues[0].parent: \"a\", expected a parent that is not below this queue; the chain is "
       "a -> a"},
      {kCluster + "queues: [{ name: a, parent: x }]\n",
       "f:2: queues[0].parent: \"x\", expected a queue of this file"},
      {kCluster + "queues:\n  - { name: a, limit: { gpu: 4 } }\n"
                  "  - { name: b, parent: a, guarantee: { gpu: 3 } }\n"
                  "  - { name: c, parent: a, guarantee: { gpu: 2 } }\n",
       "f:3: queues[0].guarantee: 5 GPUs to the queues under a (b, c), expected at most its limit "
       "of 4 GPUs"},
      {kCluster + "queues: [{ name: a, limit: { cpu: 1 }, guarantee: { cpu: 2 } }]\n",
       "f:2: queues[0].guarantee: 2 CPUs to a, expected at most its limit of 1 CPU"},
      {kCluster + "queues: [{ name: a, dequeue_strategy: lifo }]\n",
       "f:2: queues[0].dequeue_strategy: \"lifo\", expected traverse or fifo"},
      {kCluster + "queues: [{ name: a }, { name: a }]\n",
       "f:2: queues[1].name: \"a\", expected a unique name"},
      {kCluster + "queues: [{ name: a, limit: { gpu: -1 } }]\n",
       "f:2: queues[0].limit.gpu: \"-1\", expected a quantity of at least 0 such as 2, 500m or "
       "64Gi, at most 1000000000000"},
      {"cluster: { nodes: [{ name: n }, { name: n }] }\n",
       "f:1: cluster.nodes[1].name: \"n\", expected a unique name"},
      {"cluster: { nodes: -1 }\n",
       "f:1: cluster.nodes: \"-1\", expected a whole number from 0 to 1000000"},
      {"cluster: { nodes: 1, gpus_per_node: 2, gpu_links: GPU0 }\n",
       "f:1: cluster.gpu_links: \"GPU0\", expected the matrix of nvidia-smi topo -m: line 1, "
       "column "
       "GPU0: \"\", expected a row of this GPU"},
      {"cluster:\n  nodes: 1\n  gpus_per_node: 2\n  gpu_links: |\n    GPU0\n    GPU0 X\n",
       "f:4: cluster.gpu_links: \"GPU0\\x0aGPU0 X\\x0a\", expected links between 2 GPUs"},
      {"jobs: []\n", "f:1: cluster: \"\", expected this field"},
      {kCluster + "jobs: [{ name: a, at: soon }]\n",
       "f:2: jobs[0].at: \"soon\", expected a duration such as 30s, 10m or 1h30m, at most a "
       "hundred "
       "years"},
      {kCluster + "jobs: [{ name: a, members: 2, min: 3 }]\n",
       "f:2: jobs[0].min: \"3\", expected 0 to 2, the number of tasks of the role"},
      {kCluster + "jobs: [{ name: a, gpu_share: 1.5 }]\n",
       "f:2: jobs[0].gpu_share: \"1.5\", expected a share above 0 and at most 1, such as 0.5 or "
       "500m"},
      {kCluster + "jobs: [{ name: a, mig: 1g.11gb }]\n",
       "f:2: jobs[0].mig: \"1g.11gb\", expected a MIG profile of a known GPU model, such as "
       "1g.10gb"},
      {kCluster + "jobs: [{ name: a, mig: 1g.10gb, gpu_share: 0.5 }]\n",
       "f:2: jobs[0].mig: \"1g.10gb\", expected no gpu_share together with mig"},
      {kCluster + "jobs: [{ name: a, mps: true }]\n",
       "f:2: jobs[0].mps: \"true\", expected gpu_share or gpu_memory together with it"},
      {"cluster: { nodes: [{ name: a, gpus: { count: 1, modes: [half] } }] }\n",
       "f:1: cluster.nodes[0].gpus.modes: \"a list of 1\", expected of whole, fraction, mps, "
       "time_slice and mig"},
      {"cluster: { nodes: [{ name: a, gpus: { count: 1, mig_model: A100 } }] }\n",
       "f:1: cluster.nodes[0].gpus.mig_model: \"A100\", expected a model that MIG cuts, such as "
       "A100-40GB"},
      {"cluster: { nodes: [{ name: a, gpus: { count: 1, memory_factor: 0.5 } }] }\n",
       "f:1: cluster.nodes[0].gpus.memory_factor: \"0.5\", expected a factor from 1 to 10"},
      {kCluster + "jobs: [{ name: a, resources: { nvidia.com/gpu: 1 } }]\n",
       "f:2: jobs[0].resources.nvidia.com/gpu: \"1\", expected another resource: this one "
       "has its own field, gpus"},
      {kCluster + "events: [{ at: 1s, remove_node: n-9 }]\n",
       "f:2: events[0]: \"n-9\", expected a node of this file"},
      {kCluster + "events: [{ at: 1s }]\n",
       "f:2: events[0]: \"a map of 1\", expected exactly one event besides at"},
      {kCluster + "jobs: 7\n", "f:2: jobs: \"7\", expected a list"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    CHECK(FileError(one.text) == one.error);
  }
}

TEST_CASE("simulation: an unknown key is refused, with the nearest known one") {
  CHECK(FileError(kCluster + "jbos: []\n").find("did you mean \"jobs\"?") != std::string::npos);
  CHECK(FileError(kCluster + "jobs: [{ name: a, gpu: 1 }]\n").find("did you mean \"gpus\"?") !=
        std::string::npos);
}

TEST_CASE("simulation: settings that the engine refuses are refused with their line") {
  const std::string error = FileError(kCluster + "policies:\n  node_scores: best\n");
  CHECK(error.starts_with("f:3: "));
  CHECK(error.find("best") != std::string::npos);
}

TEST_CASE("simulation: keys of the caller's own are left to the caller") {
  const std::string text = kCluster + "expect: [{ job: a }]\n";
  CHECK_FALSE(FileError(text).empty());
  const auto read = ParseSimulation("f", text, {"expect"});
  REQUIRE(read.ok());
  Diagnosis wrong("f");
  Fields fields({read->document.get(), "", &wrong});
  std::string job;
  fields.List("expect", [&](const Item& item) { Fields(item).Text("job", job); });
  CHECK(job == "a");
  CHECK(wrong.ok());
}

TEST_CASE("simulation: without queues each one that a job names is there") {
  const auto read = ParseSimulation("f", kCluster + "jobs: [{ name: a, queue: q }]\n");
  REQUIRE(read.ok());
  REQUIRE(read->queues.size() == 2);
  CHECK(read->queues[1].name == "q");
}

TEST_CASE("simulation: bandwidths are of a GPU, within its node and on the way out") {
  const auto cluster = [](const std::string& bandwidth) {
    return "cluster: { nodes: 2, bandwidth: " + bandwidth + " }\n";
  };
  const auto read = ParseSimulation("f", cluster("{ node: 3600, uplinks: [400, 200] }"));
  REQUIRE(read.ok());
  CHECK(read->bandwidths == Bandwidths{3600, {400, 200}});
  CHECK_FALSE(ParseSimulation("f", kCluster)->bandwidths.has_value());
  CHECK(FileError(cluster("{ uplinks: [400] }")).find("f:1: cluster.bandwidth.node") == 0);
  CHECK(FileError(cluster("{ node: 0, uplinks: [400] }")).find("f:1: cluster.bandwidth.node") == 0);
  CHECK(FileError(cluster("{ node: 1 }")).find("f:1: cluster.bandwidth.uplinks") == 0);
  CHECK(FileError(cluster("{ node: 1, uplinks: [] }")).find("f:1: cluster.bandwidth.uplinks") == 0);
  CHECK(FileError(cluster("{ node: 1, uplinks: [400, -1] }"))
            .find("f:1: cluster.bandwidth.uplinks[1]") == 0);
  CHECK(FileError(cluster("{ node: 1, uplinks: [100001] }"))
            .find("f:1: cluster.bandwidth.uplinks[0]") == 0);
  CHECK(FileError(cluster("{ node: 1, uplinks: [1], tiers: [1] }")).find("tiers") !=
        std::string::npos);
}

TEST_CASE(
    "simulation: labels of nodes tell domains, with the names that the live scheduler gives") {
  const auto cluster = [](const std::string& keys, const std::string& more = "") {
    return R"(
cluster:
  nodes:
    - { name: r, count: 2, labels: { a.io/zone: a, spine: s1, a.io/leaf: l1 } }
    - { name: spine-only, labels: { a.io/zone: a, spine: s1 } }
    - { name: no-spine, labels: { a.io/zone: a, a.io/leaf: s1 } }
    - { name: leaf-only, labels: { a.io/leaf: l1, b.io/leaf: "x/y", odd: "-" } }
    - { name: nowhere }
  domain_labels: )" +
           keys + "\n" + more;
  };
  const auto read = ParseSimulation("f", cluster("[a.io/zone, spine, a.io/leaf]"));
  REQUIRE(read.ok());
  const std::vector<DomainSpec> expected = {
      {"-/-/l1", 1, "leaf", {"leaf-only"}, {}},   {"a", 3, "zone", {}, {"a/s1", "a/-/s1"}},
      {"a/-/s1", 1, "leaf", {"no-spine"}, {}},    {"a/s1", 2, "spine", {"spine-only"}, {"a/s1/l1"}},
      {"a/s1/l1", 1, "leaf", {"r-0", "r-1"}, {}},
  };
  CHECK(read->domains == expected);
  CHECK(FileError(cluster("[odd]")).find("f:9: cluster.domain_labels") == 0);
  CHECK(FileError(cluster("[b.io/leaf, a.io/leaf]")).find("leaf-only has b.io/leaf=x/y") !=
        std::string::npos);
  CHECK(FileError(cluster("[spine, spine]")).find("each label only once") != std::string::npos);
  CHECK(FileError(cluster("[spine]", "  domains: [{ name: d, tier: 1 }]\n")).find("not both") !=
        std::string::npos);
}

}  // namespace
}  // namespace tephra
