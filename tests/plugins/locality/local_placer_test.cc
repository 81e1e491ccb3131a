#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

JobSpec Tied(const AJob& job, std::int32_t highest_tier) {
  JobSpec spec = job;
  spec.locality = {Locality::Mode::kRequired, highest_tier, ""};
  return spec;
}

TEST_CASE("Locality: tasks follow the row of nodes in the order of their indexes") {
  SmallCluster cluster;
  for (const char* node : {"a", "b", "c", "d"}) cluster.Add(ANode(node).Gpus(2));
  cluster.Tell(DomainUpserted{{"r0", 1, "", {"d", "b"}, {}}, 1});
  cluster.Tell(DomainUpserted{{"r1", 1, "", {"a", "c"}, {}}, 1});
  cluster.Add(AJob("train").Role("w", 7, APod().Gpus(1))).Tick();
  std::vector<std::string> nodes(7);
  for (const NamedPlacement& placement : cluster.Of("train").placements) {
    nodes[static_cast<std::size_t>(placement.index)] = placement.node;
  }
  CHECK(nodes == std::vector<std::string>{"b", "b", "d", "d", "a", "a", "c"});
}

TEST_CASE(
    "Locality: a gang is completed anywhere once no domain of its tier holds what runs of it") {
  SmallCluster cluster;
  for (const char* node : {"a", "b", "c"}) cluster.Add(ANode(node).Gpus(2));
  cluster.Tell(DomainUpserted{{"r", 1, "", {"a", "b"}, {}}, 1});
  cluster.Add(Tied(AJob("train").Role("w", 2, APod().Gpus(2)), 1)).Tick();
  cluster.Confirm();
  cluster.Gone("train/w/1").Foreign("other", "b", APod().Gpus(2)).Tick(kSecondMs);
  CHECK_FALSE(cluster.Started("train"));
  cluster.Tell(DomainRemoved{"r"}).Tick(2 * kSecondMs);
  CHECK(cluster.Started("train"));
}

TEST_CASE("Locality: reserved room in a rack is released when the rack is split") {
  SmallCluster cluster;
  for (const char* node : {"a", "b", "c"}) cluster.Add(ANode(node).Gpus(2));
  cluster.Tell(DomainUpserted{{"r", 1, "", {"a", "b"}, {}}, 1});
  cluster.Tell(DomainUpserted{{"s", 1, "", {"c"}, {}}, 1});
  for (const char* name : {"x", "y", "z"}) cluster.Add(AJob(name).Role("w", 1, APod().Gpus(2)));
  cluster.Tick();
  cluster.Confirm();
  cluster.Add(Tied(AJob("train").Priority(5).Role("w", 2, APod().Gpus(2)), 1)).Tick(kSecondMs);
  CHECK(cluster.Of("train").verdict == Verdict::kStartAfterEviction);
  cluster.Tell(DomainUpserted{{"r", 1, "", {"a"}, {}}, 2});
  for (const std::string& pod : cluster.Of("train").evictions) cluster.Gone(pod);
  cluster.Tick(2 * kSecondMs);
  CHECK(cluster.plan().dropped.empty());
  CHECK(cluster.Of("train").verdict == Verdict::kInfeasible);
  CHECK(!cluster.job("train").keeps_room());
}

TEST_CASE("Locality: a domain that comes lets a gang start that waits for it") {
  SmallCluster cluster;
  for (const char* node : {"a", "b"}) cluster.Add(ANode(node).Gpus(2));
  cluster.Add(Tied(AJob("train").Role("w", 2, APod().Gpus(2)), 1)).Tick();
  CHECK(cluster.Why("train") == "no domain of tier 1 exists, and the job must run in one");
  cluster.Tell(DomainUpserted{{"r", 1, "", {"a", "b"}, {}}, 1}).Tick();
  CHECK(cluster.Started("train"));
}

}  // namespace
}  // namespace tephra
