#include "engine/reason.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

std::string Text(const Reason& reason) { return ReasonText(ResourceKinds(), reason); }

TEST_CASE("ReasonText: a start needs no reason") { CHECK(Text({}) == ""); }

TEST_CASE("ReasonText: a queue limit comes with all three numbers") {
  Reason reason;
  reason.obstacle = Obstacle::kQueueLimit;
  reason.queue = "team";
  reason.binding = kGpu;
  reason.limit = 8000, reason.used = 6000, reason.asked = 2500;
  CHECK(Text(reason) == "queue team would exceed its limit: limit 8 GPUs, used 6 GPUs, the job "
                        "needs 2.5 GPUs");
}

TEST_CASE("ReasonText: a queue that is missing or closed is named") {
  Reason reason;
  reason.queue = "team";
  reason.obstacle = Obstacle::kQueueMissing;
  CHECK(Text(reason) == "queue team does not exist");
  reason.obstacle = Obstacle::kQueueClosed;
  CHECK(Text(reason) == "queue team is not open");
}

TEST_CASE("ReasonText: a shortage starts with its cause, then the numbers and a node") {
  Reason reason;
  reason.obstacle = Obstacle::kRoom;
  reason.role = "worker";
  reason.tasks_needed = 4, reason.tasks_fit = 2;
  reason.binding = kGpu, reason.per_task = 8000;
  reason.free_total = 19000, reason.capacity_total = 32000;
  reason.best_node = "n3", reason.best_free = 7000;
  reason.nodes[static_cast<int>(Misfit::kFits)] = 2;
  reason.nodes[static_cast<int>(Misfit::kGpu)] = 1;
  reason.nodes[static_cast<int>(Misfit::kTaint)] = 1;
  reason.nodes[static_cast<int>(Misfit::kAbsent)] = 9;  // absent nodes are not counted
  CHECK(
      Text(reason) ==
      "not enough free GPUs: the job needs 4 tasks of role worker x 8 GPUs; eligible nodes have 19 "
      "of 32 GPUs free and room for 2 tasks; the most suitable node for a task, n3, has 7 GPUs "
      "free; of 4 nodes: 1 with an untolerated taint, 1 with too few free GPUs");
}

TEST_CASE("ReasonText: without an eligible node the text has no amounts") {
  Reason reason;
  reason.obstacle = Obstacle::kRoom;
  reason.role = "w";
  reason.tasks_needed = 1;
  reason.nodes[static_cast<int>(Misfit::kSelector)] = 1;
  CHECK(Text(reason) ==
        "no node is eligible: the job needs 1 task of role w; eligible nodes have room for 0 "
        "tasks; of 1 node: 1 not matching the node selector or affinity");
}

TEST_CASE("ReasonText: together, search and quarantine name their cause") {
  Reason reason;
  reason.role = "w";
  reason.tasks_needed = 2;
  reason.obstacle = Obstacle::kTogether;
  CHECK(Text(reason).find("not enough room for all roles together") != std::string::npos);
  reason.obstacle = Obstacle::kSearch;
  CHECK(Text(reason).find("none proven impossible") != std::string::npos);
  reason.obstacle = Obstacle::kQuarantine;
  CHECK(Text(reason).find("verification") != std::string::npos);
  reason.obstacle = Obstacle::kMembers;
  reason.tasks_fit = 1;
  CHECK(Text(reason) == "tasks are missing: needs 2 more tasks of role w, 1 can run");
}

TEST_CASE("ReasonText: missing pods are counted") {
  Reason reason;
  reason.obstacle = Obstacle::kMembers;
  reason.tasks_needed = 16, reason.tasks_fit = 12;
  reason.pods_there = 12, reason.pods_needed = 16;
  CHECK(Text(reason) == "pods are missing: 12 of 16 pods exist");
  reason.role = "worker";
  CHECK(Text(reason) == "pods are missing: 12 of 16 pods of role worker exist");
  reason.role.clear(), reason.pods_there = 16;  // all pods exist, and some failed
  CHECK(Text(reason) == "tasks are missing: needs 16 more tasks, 12 can run");
}

TEST_CASE("ReasonText: the cause of a shortage follows from its numbers") {
  Reason reason;
  reason.obstacle = Obstacle::kRoom;
  reason.tasks_needed = 2;
  reason.binding = kGpu, reason.per_task = 8000;
  reason.free_total = 8000, reason.capacity_total = 8000;
  CHECK(Text(reason).find("not enough GPUs: the job needs 2 tasks x 8 GPUs; eligible nodes have 8 "
                          "of 8 GPUs free and room for 0 tasks") == 0);
  reason.capacity_total = 64000;
  CHECK(Text(reason).find("not enough free GPUs:") == 0);
  reason.free_total = 20000;
  CHECK(Text(reason).find("enough free GPUs in total, but too few nodes have room for a task:") ==
        0);
  reason.nodes[static_cast<int>(Misfit::kLimit)] = 1;
  CHECK(Text(reason).find("host ports, anti-affinity, volumes or limits allow too few tasks on the eligible "
                          "nodes:") == 0);
  reason.nodes[static_cast<int>(Misfit::kFragmented)] = 1;
  CHECK(Text(reason).find("free GPUs are fragmented:") == 0);
}

TEST_CASE("ReasonText: counts have the right number") {
  Reason reason;
  reason.obstacle = Obstacle::kReleasing;
  reason.evicted = 1;
  CHECK(Text(reason) == "room is reserved, waiting for 1 evicted task to terminate");
  reason.evicted = 2, reason.gangs_broken = 1, reason.fewest = false;
  CHECK(Text(reason) ==
        "room is reserved, waiting for 2 evicted tasks to terminate, among them 1 whole gang; "
        "fewer evictions may be enough (not proven)");
}

TEST_CASE("ReasonText: each misfit has its own text") {
  std::vector<std::string> words;
  for (int m = 0; m < kMisfits; ++m) words.push_back(MisfitText(static_cast<Misfit>(m)));
  for (std::size_t i = 0; i < words.size(); ++i) {
    CHECK(words[i] != "?");
    for (std::size_t j = 0; j < i; ++j) CHECK(words[i] != words[j]);
  }
}

}  // namespace
}  // namespace tephra
