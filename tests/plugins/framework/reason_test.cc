#include "plugins/framework/reason.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

std::string Text(const Reason& reason) { return ReasonText(ResourceKinds(), reason); }

TEST_CASE("ReasonText: a start needs no reason") { CHECK(Text({}) == ""); }

TEST_CASE("ReasonText: a queue's limit is said with all three numbers") {
  Reason reason;
  reason.obstacle = Obstacle::kQueueLimit;
  reason.queue = "team";
  reason.binding = kGpu;
  reason.limit = 8000, reason.used = 6000, reason.asked = 2500;
  CHECK(Text(reason) == "queue team may hold 8 GPU, holds 6 GPU, and this needs 2.5 GPU");
}

TEST_CASE("ReasonText: a queue that is missing or closed is named") {
  Reason reason;
  reason.queue = "team";
  reason.obstacle = Obstacle::kQueueMissing;
  CHECK(Text(reason) == "queue team does not exist");
  reason.obstacle = Obstacle::kQueueClosed;
  CHECK(Text(reason) == "queue team is not open");
}

TEST_CASE("ReasonText: room is said as what is needed, what is there, and where most of it is") {
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
  reason.nodes[static_cast<int>(Misfit::kAbsent)] = 9;  // not there, not counted
  CHECK(
      Text(reason) ==
      "needs 4 tasks of role worker with 8 GPU each, room for 2: 19 GPU free of 32 GPU on nodes "
      "it may use, best is n3 with 7 GPU free; of 4 nodes 1 with an untolerated taint, 1 short of "
      "GPU");
}

TEST_CASE("ReasonText: without an eligible node there are no amounts to speak of") {
  Reason reason;
  reason.obstacle = Obstacle::kRoom;
  reason.role = "w";
  reason.tasks_needed = 1;
  reason.nodes[static_cast<int>(Misfit::kSelector)] = 1;
  CHECK(Text(reason) == "needs 1 task of role w, room for 0; of 1 node 1 not selected by labels");
}

TEST_CASE("ReasonText: together, search and quarantine each say what they are") {
  Reason reason;
  reason.role = "w";
  reason.tasks_needed = 2;
  reason.obstacle = Obstacle::kTogether;
  CHECK(Text(reason).find("all together do not fit") != std::string::npos);
  reason.obstacle = Obstacle::kSearch;
  CHECK(Text(reason).find("none is proven impossible") != std::string::npos);
  reason.obstacle = Obstacle::kQuarantine;
  CHECK(Text(reason).find("verification") != std::string::npos);
  reason.obstacle = Obstacle::kMembers;
  reason.tasks_fit = 1;
  CHECK(Text(reason) == "needs 2 more tasks of role w, and 1 ask to run");
}

TEST_CASE("ReasonText: where pods are what is missing, it counts pods") {
  Reason reason;
  reason.obstacle = Obstacle::kMembers;
  reason.tasks_needed = 16, reason.tasks_fit = 12;
  reason.pods_there = 12, reason.pods_needed = 16;
  CHECK(Text(reason) == "12 of 16 pods exist");
  reason.role = "worker";
  CHECK(Text(reason) == "12 of 16 pods of role worker exist");
  reason.role.clear(), reason.pods_there = 16;  // all there, and some of them failed
  CHECK(Text(reason) == "needs 16 more tasks, and 12 ask to run");
}

TEST_CASE("ReasonText: each misfit has words of its own") {
  std::vector<std::string> words;
  for (int m = 0; m < kMisfits; ++m) words.push_back(MisfitText(static_cast<Misfit>(m)));
  for (std::size_t i = 0; i < words.size(); ++i) {
    CHECK(words[i] != "?");
    for (std::size_t j = 0; j < i; ++j) CHECK(words[i] != words[j]);
  }
}

}  // namespace
}  // namespace tephra
