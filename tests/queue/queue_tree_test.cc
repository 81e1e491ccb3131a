#include "queue/queue_tree.h"

#include <algorithm>

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

// The tree must not depend on the order of its queues.
TEST_CASE("QueueTree: queues on a cycle of parents are top queues, in any order") {
  std::vector<QueueSpec> specs = {AQueue("a").Under("c"), AQueue("b").Under("a"),
                                  AQueue("c").Under("b"), AQueue("d").Under("c"), AQueue("e")};
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  do {
    QueueTree tree;
    for (const std::size_t i : order) REQUIRE(tree.Upsert(specs[i]).ok());
    for (const char* name : {"a", "b", "c"}) {
      CHECK(tree.cycle(tree.Find(name)) == "a -> c -> b -> a");
      CHECK_FALSE(tree.parent(tree.Find(name)).valid());
    }
    CHECK(tree.parent(tree.Find("d")) == tree.Find("c"));
    CHECK(tree.cycle(tree.Find("d")).empty());
    CHECK(tree.cycle(tree.Find("e")).empty());
    REQUIRE(tree.Upsert(AQueue("b").Under("e")).ok());
    CHECK(tree.cycle(tree.Find("a")).empty());
    CHECK(tree.parent(tree.Find("c")) == tree.Find("b"));
    CHECK(tree.parent(tree.Find("b")) == tree.Find("e"));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("QueueTree: a queue under itself is a cycle, and one that is removed ends it") {
  QueueTree tree;
  REQUIRE(tree.Upsert(AQueue("self").Under("self")).ok());
  CHECK(tree.cycle(tree.Find("self")) == "self -> self");
  REQUIRE(tree.Upsert(AQueue("a").Under("b")).ok());
  REQUIRE(tree.Upsert(AQueue("b").Under("a")).ok());
  CHECK(tree.cycle(tree.Find("b")) == "a -> b -> a");
  tree.Remove("b");
  CHECK(tree.cycle(tree.Find("a")).empty());
  CHECK(tree.cycle(tree.Find("self")) == "self -> self");
}

TEST_CASE("QueueTree: a quota of GPU models implies at least as many GPUs") {
  ResourceKinds kinds;
  const Kind h100 = *kinds.Intern("gpu.H100"), a100 = *kinds.Intern("gpu.A100");
  QueueTree tree;
  const auto deserved = [&](const QueueSpec& queue) {
    REQUIRE(tree.Upsert(queue, kinds).ok());
    return tree.spec(tree.Find(queue.name)).deserved[kGpu];
  };
  CHECK(deserved(AQueue("q").Deserved(h100, 64000).Deserved(a100, 16000)) == 80000);
  CHECK(deserved(AQueue("q").Deserved(h100, 64000).Deserved(kGpu, 90000)) == 90000);
  CHECK(deserved(AQueue("q").Deserved(kGpu, 5000)) == 5000);
  CHECK(tree.Upsert(AQueue("q").Guarantee(h100, 500), kinds).ok());
  CHECK(tree.spec(tree.Find("q")).guarantee[kGpu] == 500);
  CHECK(tree.Upsert(AQueue("q").Limit(h100, 500), kinds).ok());
  CHECK(tree.spec(tree.Find("q")).limited_kinds == KindSet{1} << h100);
  const absl::Status status = tree.Upsert(
      AQueue("q").Deserved(kGpu, 8000).Deserved(h100, 6000).Deserved(a100, 4000), kinds);
  CHECK(status.message() ==
        "queue \"q\": deserved: 8 GPUs in all, expected at least the 10 GPUs of its models: 4 A100 "
        "GPUs, 6 H100 GPUs");
  CHECK(tree.spec(tree.Find("q")).deserved[kGpu] == 0);
  // Sums beyond all numbers are no sums.
  CHECK(deserved(AQueue("q").Deserved(h100, kMaxSum).Deserved(a100, kMaxSum)) == kMaxSum);
}

TEST_CASE("QueueTree: a guarantee beyond the limit is reported with both numbers") {
  ResourceKinds kinds;
  QueueTree tree;
  const auto overdrawn = [&] {
    std::vector<std::string> found;
    for (const auto& [queue, what] : tree.Overdrawn(kinds)) {
      found.push_back(tree.spec(queue).name + ": " + what);
    }
    return found;
  };
  REQUIRE(tree.Upsert(AQueue("top").Limit(kGpu, 10000).Guarantee(kCpu, 4000)).ok());
  REQUIRE(tree.Upsert(AQueue("a").Under("top").Guarantee(kGpu, 6000)).ok());
  REQUIRE(tree.Upsert(AQueue("b").Under("top").Guarantee(kGpu, 4000).Guarantee(kCpu, 4000)).ok());
  CHECK(overdrawn().empty());
  REQUIRE(tree.Upsert(AQueue("b").Under("top").Guarantee(kGpu, 5000).Guarantee(kCpu, 5000)).ok());
  CHECK(
      overdrawn() ==
      std::vector<std::string>{
          "top: guarantee: 5 CPUs to the queues under top (a, b), expected at most its own of 4 "
          "CPUs",
          "top: guarantee: 11 GPUs to the queues under top (a, b), expected at most its limit of "
          "10 GPUs"});
  REQUIRE(tree.Upsert(AQueue("b").Limit(kGpu, 1000).Guarantee(kGpu, 5000)).ok());
  CHECK(overdrawn() ==
        std::vector<std::string>{"b: guarantee: 5 GPUs to b, expected at most its limit of 1 GPU"});
}

TEST_CASE("QueueTree: what queues with the same parent deserve, as the tree changes") {
  QueueTree tree;
  const auto beside = [&](const std::string& name) { return tree.deserved_beside(tree.Find(name)); };
  REQUIRE(tree.Upsert(AQueue("a")).ok());
  CHECK(beside("a") == 0);
  REQUIRE(tree.Upsert(AQueue("b").Deserved(kGpu, 4000)).ok());
  CHECK(beside("a") == KindSet{1} << kGpu);
  REQUIRE(tree.Upsert(AQueue("c").Under("a").Deserved(kCpu, 1000)).ok());
  REQUIRE(tree.Upsert(AQueue("d").Under("a")).ok());
  CHECK(beside("d") == KindSet{1} << kCpu);
  // Without its parent a queue counts as a top queue.
  tree.Remove("a");
  CHECK(beside("d") == (KindSet{1} << kCpu | KindSet{1} << kGpu));
  tree.Remove("b");
  tree.Remove("c");
  CHECK(beside("d") == 0);
  CHECK(beside("a") == 0);
}

TEST_CASE("QueueTree: the longest eviction delay from a queue up counts") {
  QueueTree tree;
  const auto with = [](AQueue queue, DurationMs delay) {
    QueueSpec spec = queue;
    spec.eviction_delay_ms = delay;
    return spec;
  };
  REQUIRE(tree.Upsert(with(AQueue("top"), 5000)).ok());
  REQUIRE(tree.Upsert(with(AQueue("q").Under("top"), 2000)).ok());
  CHECK(tree.EvictionDelay(tree.Find("q")) == 5000);
  REQUIRE(tree.Upsert(with(AQueue("q").Under("top"), 7000)).ok());
  CHECK(tree.EvictionDelay(tree.Find("q")) == 7000);
  CHECK(tree.EvictionDelay(tree.Find("top")) == 5000);
  tree.Remove("q");
  tree.Remove("top");
  CHECK_FALSE(tree.delays());
  for (const DurationMs wrong : {DurationMs{-1}, kMostEvictionDelayMs + 1}) {
    const absl::Status status = tree.Upsert(with(AQueue("q"), wrong));
    CHECK(std::string(status.message()) ==
          "queue \"q\": eviction_delay_ms: " + std::to_string(wrong) + ", expected 0 to 864000000000");
  }
}

TEST_CASE("QueueTree: weights below one, negative limits and empty names are refused") {
  QueueTree tree;
  QueueSpec queue = AQueue("q");
  queue.weight = 0;
  CHECK_FALSE(tree.Upsert(queue).ok());
  CHECK_FALSE(tree.Upsert(AQueue("q").Limit(kGpu, -1)).ok());
  CHECK_FALSE(tree.Upsert(AQueue("q").Guarantee(kGpu, -1)).ok());
  CHECK_FALSE(tree.Upsert(AQueue("q").Deserved(kGpu, kMaxSum + 1)).ok());
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
