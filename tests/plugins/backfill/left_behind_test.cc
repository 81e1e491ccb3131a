// A job that is deleted goes before its pods do.
#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

TEST_CASE("Pods of a deleted job keep the job's estimate, and reservations stand") {
  EngineConfig config;
  config.reservations.mode = ReservationSettings::Mode::kFirst;
  SmallCluster cluster(config);
  constexpr DurationMs kRun = 3600 * kSecondMs;
  cluster.Add(ANode("n0").Gpus(8));
  cluster.Add(ANode("n1").Gpus(8));
  const auto job = [](const char* name, int tasks, TimeMs created, DurationMs run) {
    return AJob(name).Role("w", tasks, APod().Gpus(8), tasks).Created(created).Runs(run);
  };
  cluster.Add(job("holder", 1, 0, kRun));
  cluster.Tick(0);
  cluster.Confirm();
  cluster.Add(job("large", 2, 1, kRun));
  cluster.Tick(kSecondMs);
  const TimeMs reserved = cluster.job("large").reservation->at;
  REQUIRE(reserved >= kRun);

  cluster.Tell(JobRemoved{"holder"});
  cluster.Add(job("long", 1, 2, 2 * kRun));
  cluster.Tick(2 * kSecondMs);
  CHECK(cluster.job("large").reservation->at == reserved);
  CHECK_FALSE(cluster.job("long").satisfied());
  CHECK(cluster.engine().state().CheckBooks() == "");
}

}  // namespace
}  // namespace tephra
