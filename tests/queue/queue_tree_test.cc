#include "queue/queue_tree.h"

#include <catch2/catch.hpp>

#include "tests/support/build.h"

namespace tephra {
namespace {

TEST_CASE("QueueTree: a queue is under its parent, whichever came first") {
  QueueTree tree;
  REQUIRE(tree.Upsert(AQueue("child").Under("top")).ok());
  CHECK_FALSE(tree.parent(tree.Find("child")).valid());
  REQUIRE(tree.Upsert(AQueue("top")).ok());
  CHECK(tree.parent(tree.Find("child")) == tree.Find("top"));
  tree.Remove("top");
  CHECK_FALSE(tree.parent(tree.Find("child")).valid());
  CHECK_FALSE(tree.Find("top").valid());
}

TEST_CASE("QueueTree: a cycle of parents is refused with its names, and the tree stays") {
  QueueTree tree;
  REQUIRE(tree.Upsert(AQueue("a")).ok());
  REQUIRE(tree.Upsert(AQueue("b").Under("a")).ok());
  REQUIRE(tree.Upsert(AQueue("c").Under("b")).ok());
  const absl::Status status = tree.Upsert(AQueue("a").Under("c"));
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(std::string(status.message()).find("a -> c -> b -> a") != std::string::npos);
  CHECK(tree.spec(tree.Find("a")).parent.empty());
  CHECK_FALSE(tree.parent(tree.Find("a")).valid());
  CHECK_FALSE(tree.Upsert(AQueue("self").Under("self")).ok());
}

TEST_CASE("QueueTree: a cycle that closes through a queue not known yet is refused when it comes") {
  QueueTree tree;
  REQUIRE(tree.Upsert(AQueue("a").Under("b")).ok());
  CHECK_FALSE(tree.Upsert(AQueue("b").Under("a")).ok());
  CHECK_FALSE(tree.Find("b").valid());
}

TEST_CASE("QueueTree: weights below one, negative limits and empty names are refused") {
  QueueTree tree;
  QueueSpec queue = AQueue("q");
  queue.weight = 0;
  CHECK_FALSE(tree.Upsert(queue).ok());
  CHECK_FALSE(tree.Upsert(AQueue("q").Limit(kGpu, -1)).ok());
  CHECK_FALSE(tree.Upsert(AQueue("")).ok());
  CHECK_FALSE(tree.Find("q").valid());
}

TEST_CASE("QueueTree: a name keeps its id through reserve, removal and return") {
  QueueTree tree;
  const QueueId reserved = tree.Reserve("q");
  CHECK_FALSE(tree.present(reserved));
  CHECK_FALSE(tree.Find("q").valid());
  REQUIRE(tree.Upsert(AQueue("q").Limit(kGpu, 8000)).ok());
  CHECK(tree.Find("q") == reserved);
  tree.Remove("q");
  tree.Remove("never");
  REQUIRE(tree.Upsert(AQueue("q")).ok());
  CHECK(tree.Find("q") == reserved);
  CHECK(tree.spec(reserved).limited_kinds == 0);
}

}  // namespace
}  // namespace tephra
