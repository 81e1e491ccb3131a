#include <string>

#include <catch2/catch.hpp>

#include "simulations/workload/simulation_file.h"

namespace tephra {
namespace {

const std::string kMachine = "cluster: { nodes: 2, gpus_per_node: 8 }\n";

std::string ErrorOf(const std::string& text) {
  const auto simulation = ParseSimulation("f", text);
  return simulation.ok() ? "" : std::string(simulation.status().message());
}

TEST_CASE("simulation: no count makes more objects than memory can hold") {
  const auto refuses = [](const std::string& text, const std::string& start,
                          const std::string& expected) {
    const std::string error = ErrorOf(text);
    INFO(error);
    CHECK(error.starts_with(start));
    CHECK(error.find("expected " + expected) != std::string::npos);
  };
  const std::string memory = "fewer or smaller objects: all nodes and jobs together";
  refuses("cluster: { nodes: 1000000, gpus_per_node: 1024 }\n", "f:1: cluster: ", memory);
  refuses("cluster:\n  nodes: [{ name: a, count: 1000000, gpus: 1024 }]\n",
          "f:2: cluster.nodes[0]: ", memory);
  const std::string label = "labels: { a: " + std::string(10'000, 'x') + " }";
  refuses("cluster:\n  nodes: [{ name: a, count: 1000000, " + label + " }]\n",
          "f:2: cluster.nodes[0]: ", memory);
  refuses(kMachine + "jobs: [{ name: a, copies: 10000000 }]\n", "f:2: jobs[0]: ", memory);
  const std::string group = "groups: [{ name: g, members: 1, copies: ";
  refuses(kMachine + "jobs: [{ name: a, copies: 1000, " + group + "10000 }] }]\n",
          "f:2: jobs[0]: ", memory);
  refuses(kMachine + "jobs: [{ name: a, " + group + "10001 }] }]\n",
          "f:2: jobs[0].groups[0]: ", "at most 10000 roles");
  const std::string inner = "groups: [{ name: h, copies: 200, members: 1 }]";
  refuses(kMachine + "jobs: [{ name: a, groups: [{ name: g, copies: 200, " + inner + " }] }]\n",
          "f:2: jobs[0].groups[0]: ", "at most 10000 roles");
  refuses(kMachine + "jobs: [{ name: a, groups: [{ name: g, copies: 1000000, groups: [] }] }]\n",
          "f:2: jobs[0].groups[0]: ", "at most 80000 groups");
  std::string deep = "{ name: g, members: 1 }";
  for (int level = 1; level <= 8; ++level) deep = "{ name: g, groups: [" + deep + "] }";
  refuses(kMachine + "jobs: [{ name: a, groups: [" + deep + "] }]\n", "f:2: jobs[0].groups[0]",
          "at most 8 groups inside each other");
  std::string roles, queues = "  - { name: q0 }\n";
  for (int i = 0; i <= 10'000; ++i) roles += "{ name: r" + std::to_string(i) + " },\n";
  for (int i = 1; i <= 100; ++i) {
    queues += "  - { name: q" + std::to_string(i) + ", parent: q" + std::to_string(i - 1) + " }\n";
  }
  refuses(kMachine + "jobs: [{ name: a, roles: [\n" + roles + "] }]\n",
          "f:2: jobs[0].roles: ", "at most 10000 roles");
  refuses(kMachine + "queues:\n" + queues, "f:103: queues[100].parent: \"q99\"",
          "at most 100 levels of queues");
}

TEST_CASE("simulation: no name can control a terminal or fill a page") {
  const std::string name = "jobs: [{ name: \"a\\e[2J\" }]\n";
  CHECK(ErrorOf(kMachine + name) ==
        "f:2: jobs[0].name: \"a\\x1b[2J\", expected text without control characters");
  CHECK(ErrorOf(kMachine + "jobs: [{ name: \"a\\nb\" }]\n").find("without control characters") !=
        std::string::npos);
  const std::string error =
      ErrorOf(kMachine + "queues: [{ name: " + std::string(254, 'x') + " }]\n");
  CHECK(error.starts_with("f:2: queues[0].name: \"xxx"));
  CHECK(error.find("expected a name of at most 253 bytes") != std::string::npos);
}

}  // namespace
}  // namespace tephra
