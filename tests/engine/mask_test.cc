// Masks: nodes that pods name as excluded.
#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

Misfit Only(const NamedDecision& decision) {
  for (int m = 0; m < kMisfits; ++m) {
    if (decision.reason->nodes[static_cast<std::size_t>(m)] > 0) return static_cast<Misfit>(m);
  }
  return Misfit::kAbsent;
}

TEST_CASE("Mask: an excluded node is out for pods that name it, and for no other pods") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(ANode("b").Gpus(1)).Tell(MaskUpserted{"m", {"a"}, 1});
  cluster.Add(AJob("j").Role("w", 1, APod().Gpus(1).Masked("m"))).Tick();
  CHECK(cluster.Of("j").placements.at(0).node == "b");
  cluster.Add(AJob("k").Role("w", 1, APod().Gpus(1).Cores(1))).Tick(1);
  CHECK(cluster.Of("k").placements.at(0).node == "a");
}

TEST_CASE("Mask: one that is not known yet makes its pods wait, not infeasible") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(AJob("j").Role("w", 1, APod().Gpus(1).Masked("m"))).Tick();
  CHECK(cluster.Of("j").verdict == Verdict::kWait);
  CHECK(Only(cluster.Of("j")) == Misfit::kExcluded);
  CHECK(cluster.Why("j").find("1 excluded by Volcano's predicates") != std::string::npos);
  cluster.Tell(MaskUpserted{"m", {}, 1}).Tick(1);
  CHECK(cluster.Started("j"));
  cluster.Tell(MaskRemoved{"m"});
  cluster.Add(AJob("k").Role("w", 1, APod().Cores(1).Masked("m"))).Tick(2);
  CHECK_FALSE(cluster.Started("k"));
}

TEST_CASE("Mask: a node that comes free is seen at once, and an old version changes nothing") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(ANode("b").Gpus(1));
  cluster.Tell(MaskUpserted{"m", {"a", "b"}, 5});
  cluster.Add(AJob("j").Role("w", 1, APod().Gpus(1).Masked("m"))).Tick();
  CHECK(cluster.Tell(MaskUpserted{"m", {}, 5}).Tick(1).decisions.empty());
  cluster.Tell(MaskUpserted{"m", {"a"}, 6}).Tick(2);
  CHECK(cluster.Of("j").placements.at(0).node == "b");
}

TEST_CASE("Mask: it holds for nodes that are not there yet, or went and came back") {
  SmallCluster cluster;
  cluster.Tell(MaskUpserted{"m", {"a"}, 1});
  cluster.Add(ANode("a").Gpus(1)).Add(AJob("j").Role("w", 1, APod().Gpus(1).Masked("m"))).Tick();
  CHECK_FALSE(cluster.Started("j"));
  cluster.Tell(NodeRemoved{"a"}).Add(ANode("a").Gpus(1)).Tick(1);
  CHECK_FALSE(cluster.Started("j"));
}

TEST_CASE("Mask: one without a name, or that excludes a node without one, is refused") {
  State state;
  CHECK_FALSE(state.Apply(MaskUpserted{"", {}, 1}).ok());
  CHECK_FALSE(state.Apply(MaskUpserted{"m", {""}, 1}).ok());
  CHECK(state.Apply(MaskRemoved{"m"}).ok());
}

}  // namespace
}  // namespace tephra
