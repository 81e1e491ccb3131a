// Which facts may replace earlier ones, and which may not.
#include "sidecar/inbox.h"

#include <catch2/catch.hpp>

#include "tests/support/build.h"

namespace tephra {
namespace {

TaskUpserted Pod(const std::string& uid, const std::string& job, std::uint64_t version) {
  TaskUpserted fact;
  fact.task.uid = uid;
  fact.task.job = job;
  fact.task.node = "n";
  fact.version = version;
  return fact;
}

JobUpserted Job(const std::string& uid, std::uint64_t version) {
  return {AJob(uid).Role("worker", 1, APod().Gpus(1)), version};
}

NodeUpserted Node(const std::string& name, std::uint64_t version) {
  return {ANode(name).Gpus(8), version};
}

// The indexes, in what was added, of the facts that are left.
std::vector<std::uint32_t> Left(const std::vector<Event>& events) {
  Inbox inbox;
  for (std::size_t i = 0; i < events.size(); ++i) {
    inbox.Add({events[i], 1, static_cast<std::uint32_t>(i)});
  }
  const std::size_t size = inbox.size();
  std::vector<std::uint32_t> left;
  for (const Received& fact : inbox.Take()) left.push_back(fact.index);
  CHECK(left.size() == size);
  CHECK(inbox.size() == 0);
  return left;
}

using Indexes = std::vector<std::uint32_t>;

TEST_CASE("The last of several upserts of an object is left, in its own place") {
  CHECK(Left({Node("n", 1), Node("m", 1), Node("n", 2), Node("n", 3)}) == Indexes{1, 3});
}

TEST_CASE("A removal takes the place of the upsert before it, and an upsert after it is new") {
  CHECK(Left({Node("n", 1), NodeRemoved{"n"}, Node("n", 2)}) == Indexes{1, 2});
}

TEST_CASE("What a pod said last is kept before its removal, for a success outlives the pod") {
  CHECK(Left({Pod("p", "j", 1), Pod("p", "j", 2), TaskRemoved{"p"}}) == Indexes{1, 2});
}

TEST_CASE("A fact that another one needs keeps its place") {
  CHECK(Left({Job("j", 1), Pod("p", "j", 1), Job("j", 2)}) == Indexes{0, 1, 2});
  CHECK(Left({Node("n", 1), Pod("p", "j", 1), Node("n", 2)}) == Indexes{0, 1, 2});
}

TEST_CASE("Facts about other objects do not stand between two facts about one object") {
  CHECK(Left({Pod("p", "j", 1), Pod("q", "j", 1), Job("j", 2), Pod("p", "j", 2)}) ==
        Indexes{1, 2, 3});
}

TEST_CASE("No fact passes an outcome of a plan") {
  CHECK(Left({Pod("p", "j", 1), PlacementRefused{"j", "worker", "n", "no"}, Pod("p", "j", 2)}) ==
        Indexes{0, 1, 2});
}

TEST_CASE("An inbox is full after its most facts, also about one object, and not once they are taken") {
  Inbox inbox;
  std::size_t added = 0;
  for (; !inbox.full(); ++added) inbox.Add({Node("n", added), 1, 0});
  CHECK(added == Inbox::kMostFacts);
  CHECK(inbox.size() == 1);
  inbox.Take();
  CHECK_FALSE(inbox.full());
}

}  // namespace
}  // namespace tephra
