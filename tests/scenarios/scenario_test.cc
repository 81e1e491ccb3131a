// Runs every scenario of this folder. An argument after `--` is no part of it: pick one file with
// -c "<its path>", as it stands in a failure.
#include "tests/scenarios/scenario.h"

#include <algorithm>
#include <filesystem>

#include <catch2/catch.hpp>

namespace tephra {
namespace {

// Beneath the working directory, which ctest sets to this folder.
std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(".")) {
    if (entry.path().extension() == ".yaml") {
      files.push_back(entry.path().lexically_normal().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Faults(const absl::StatusOr<Scenario>& scenario, bool forget) {
  if (!scenario.ok()) return std::string(scenario.status().message());
  std::string all;
  for (const std::string& fault : RunScenario(*scenario, forget)) all += "\n" + fault;
  return all;
}

TEST_CASE("Every scenario comes out as expected, with derived state kept and dropped") {
  const std::vector<std::string> files = Files();
  REQUIRE(files.size() >= 50);
  for (const std::string& file : files) {
    DYNAMIC_SECTION(file) {
      CHECK(Faults(LoadScenario(file), false) == "");
      CHECK(Faults(LoadScenario(file), true) == "");
    }
  }
}

// The runner itself.

constexpr char kGood[] = R"(name: a name
why: a reason
cluster: { nodes: 1, gpus_per_node: 8 }
jobs:
  - { name: fits, members: 8, gpus: 1 }
  - { name: never, members: 9, gpus: 1, at: 1s }
  - { name: late, members: 1, gpus: 1, at: 2s }
expect:
)";

std::string Outcome(const std::string& expectation) {
  return Faults(ParseScenario("x.yaml", std::string(kGood) + expectation), false);
}

TEST_CASE("Scenario: right expectations pass") {
  CHECK(
      Outcome(
          "  - { at: 0s, job: fits, verdict: start, nodes: 1, placed_on: [n-0], tasks_placed: 8 }\n"
          "  - { at: 0s, job: fits, devices: [n-0/0, n-0/1, n-0/2, n-0/3, n-0/4, n-0/5, n-0/6, "
          "n-0/7] }\n"
          "  - { at: 1s, job: never, verdict: infeasible, reason: room, text: needs 9 tasks }\n"
          "  - { at: 2s, job: late, verdict: wait, tasks_placed: 0, nodes: 0, placed_on: [] }\n") ==
      "");
}

TEST_CASE("Scenario: each kind of wrong expectation fails, with its line and what was seen") {
  const auto says = [](const std::string& expectation, const std::string& part) {
    const std::string outcome = Outcome("  - " + expectation + "\n");
    INFO(outcome);
    return outcome.find("x.yaml:9: ") != std::string::npos &&
           outcome.find(part) != std::string::npos;
  };
  CHECK(says("{ at: 0s, job: fits, verdict: wait }", "expected verdict wait, saw start"));
  CHECK(says("{ at: 1s, job: never, verdict: wait }", "needs 9 tasks"));
  CHECK(says("{ at: 1s, job: never, reason: together }", "expected reason together, saw room"));
  CHECK(says("{ at: 1s, job: never, text: no such words }", "expected text \"no such words\""));
  CHECK(says("{ at: 0s, job: fits, nodes: 2 }", "expected nodes 2, saw 1"));
  CHECK(says("{ at: 0s, job: fits, tasks_placed: 7 }", "expected tasks_placed 7, saw 8"));
  CHECK(says("{ at: 0s, job: fits, tasks_reserved: 1 }", "expected tasks_reserved 1, saw 0"));
  CHECK(says("{ at: 0s, job: fits, evictions: 1 }", "expected evictions 1, saw 0"));
  CHECK(says("{ at: 0s, job: fits, placed_on: [n-1] }", "expected placed_on [n-1], saw [n-0]"));
  CHECK(says("{ at: 2s, job: late, devices: [n-0/0] }", "expected devices [n-0/0], saw []"));
  CHECK(says("{ at: 0s, job: fits, role: absent, tasks_placed: 0 }", "none of that name"));
  CHECK(says("{ at: 1s, job: late, verdict: wait }", "expected a verdict, saw none"));
  CHECK(says("{ at: 0s, job: fits, part: elastic, verdict: start }", "the engine gave no verdict"));
}

TEST_CASE("Scenario: what cannot be judged is refused") {
  CHECK(Outcome("") != "");
  CHECK(Outcome("  []\n") != "");
  CHECK(Outcome("  - { at: 0s, job: fits }\n").find("something to expect") != std::string::npos);
  CHECK(Outcome("  - { job: fits, verdict: start }\n").find("at") != std::string::npos);
  CHECK(Outcome("  - { at: 0s, job: absent, verdict: start }\n").find("a job of this file") !=
        std::string::npos);
  CHECK(Outcome("  - { at: 0s, job: fits, verdikt: start }\n").find("verdikt") !=
        std::string::npos);
  CHECK(Outcome("  - { at: 0s, job: fits, verdict: begin }\n").find("begin") != std::string::npos);
  CHECK(Faults(ParseScenario("x.yaml", "name: n\ncluster: { nodes: 1 }\nexpect: []\n"), false)
            .find("why") != std::string::npos);
}

}  // namespace
}  // namespace tephra
