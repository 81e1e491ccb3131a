// A task starts beside a reservation exactly if some node is left for it: by brute force over counts.
#include <catch2/catch.hpp>

#include "tests/support/dice.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

constexpr int kGpus = 8;

struct Case {
  std::vector<int> now;   // free GPUs by node
  std::vector<int> then;  // when the reservation starts
  int tasks;              // that have it
  int each;               // GPUs of one of them
};

bool Fits(const Case& one, const std::vector<int>& free) {
  int room = 0;
  for (const int gpus : free) room += gpus / one.each;
  return room >= one.tasks;
}

bool MayStart(const Case& one, int gpus) {
  for (std::size_t n = 0; n < one.now.size(); ++n) {
    std::vector<int> then = one.then;
    then[n] -= gpus;
    if (one.now[n] >= gpus && Fits(one, then)) return true;
  }
  return false;
}

TEST_CASE("A task starts beside a reservation where a node is left for it, and nowhere else") {
  int starts = 0, waits = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    Dice dice(seed);
    EngineConfig config;
    config.reservations.mode = ReservationSettings::Mode::kFirst;
    SmallCluster cluster(config);
    constexpr DurationMs kHour = 3600 * kSecondMs;
    const int nodes = dice.From(2, 40);
    Case one{{}, {}, 0, dice.From(1, kGpus)};
    for (int n = 0; n < nodes; ++n) {
      const std::string name = "n" + std::to_string(n);
      cluster.Add(ANode(name).Gpus(kGpus).Label(kHostnameKey, name));
      const int soon = dice.Below(kGpus + 1), late = dice.Below(kGpus - soon + 1);
      const auto holds = [&](const std::string& job, int gpus, DurationMs run) {
        if (gpus == 0) return;
        cluster.Add(AJob(job).Role("w", 1, APod().Gpus(gpus).Select(kHostnameKey, name), 1).Runs(run));
      };
      holds("soon" + name, soon, kHour);
      holds("late" + name, late, 5 * kHour);
      one.now.push_back(kGpus - soon - late);
      one.then.push_back(kGpus - late);
    }
    cluster.Tick(0);
    cluster.Confirm();
    int most = 0, before = 0;
    for (const int gpus : one.then) most += gpus / one.each;
    for (const int gpus : one.now) before += gpus / one.each;
    if (most <= before) continue;
    one.tasks = dice.From(before + 1, most);
    const auto job = [](const char* name, int tasks, int gpus, TimeMs created, DurationMs run) {
      return AJob(name).Role("w", tasks, APod().Gpus(gpus), tasks).Created(created).Runs(run);
    };
    cluster.Add(job("large", one.tasks, one.each, 1, kHour));
    cluster.Tick(1);
    const TimeMs reserved = cluster.job("large").reservation->at;
    REQUIRE(reserved == kHour);

    const int gpus = dice.From(1, kGpus);
    cluster.Add(job("small", 1, gpus, 2, 3 * kHour));
    cluster.Tick(2);
    const bool started = cluster.job("small").satisfied();
    CHECK(started == MayStart(one, gpus));
    CHECK(cluster.job("large").reservation->at == reserved);
    CHECK(cluster.engine().state().CheckBooks() == "");
    ++(started ? starts : waits);
  }
  CHECK(starts > 50);
  CHECK(waits > 50);
}

}  // namespace
}  // namespace tephra
