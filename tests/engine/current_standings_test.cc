// Jobs that were not asked again name the job that is first now.
#include "engine/current_standings.h"

#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

TEST_CASE("A job behind another one of its FIFO queue names the job that is first now") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(8));
  cluster.Add(AQueue("line").Fifo());
  const auto job = [](const char* name, int gpus, TimeMs created) {
    return AJob(name).Role("w", 1, APod().Gpus(gpus), 1).Created(created).In("line");
  };
  cluster.Add(job("one", 8, 0)).Add(job("two", 8, 1)).Add(job("three", 8, 2));
  cluster.Add(job("four", 1, 3));
  cluster.Tick(10);
  cluster.Confirm();
  const auto ahead = [&](const char* name) {
    const JobId id = cluster.engine().state().FindJob(name);
    return CurrentStandings(cluster.books()).Of(id).reason->ahead;
  };
  CHECK(ahead("three") == "two");
  CHECK(ahead("four") == "two");

  cluster.Tell(JobRemoved{"one"}).Gone("one/w/0");
  cluster.Tick(20);
  REQUIRE(cluster.Started("two"));
  cluster.Confirm();
  cluster.Tick(30);
  CHECK(ahead("three") == "");  // it is first itself
  CHECK(ahead("four") == "three");
}

}  // namespace
}  // namespace tephra
