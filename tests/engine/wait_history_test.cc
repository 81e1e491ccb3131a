#include "engine/wait_history.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <queue>
#include <tuple>
#include <vector>

#include "topology/base/hash.h"

namespace tephra {
namespace {

constexpr DurationMs kWaitMinute = 60 * kSecondMs, kWaitHour = 60 * kWaitMinute;

const WaitSubject kWaitingJob = {QueueId(std::size_t{1}), false, true, 4, 12};

double RandomPart(std::uint64_t& seed) {
  return static_cast<double>(Mix(++seed) >> 11) / static_cast<double>(std::uint64_t{1} << 53);
}

// The part of the waits inside their intervals. Each wait ends before the next one begins. `wait`
// makes a wait from its number and a random number.
template <class Wait>
double Inside(int waits, std::uint64_t seed, Wait wait) {
  WaitHistory history;
  int judged = 0, inside = 0;
  for (int i = 0; i < waits; ++i) {
    const auto interval = history.Predict(kWaitingJob, 0);
    const DurationMs real = wait(i, RandomPart(seed));
    history.Started(kWaitingJob, real);
    if (!interval) continue;
    ++judged;
    history.JudgeLow(real < interval->low);
    history.JudgeHigh(real > interval->high);
    inside += interval->low <= real && real <= interval->high;
  }
  CHECK(judged > waits * 9 / 10);
  return static_cast<double>(inside) / judged;
}

TEST_CASE("Without 20 waits there is no interval") {
  WaitHistory history;
  for (int i = 0; i < 19; ++i) {
    CHECK(!history.Predict(kWaitingJob, 0));
    history.Started(kWaitingJob, kWaitHour);
  }
  CHECK(!history.Predict(kWaitingJob, 0));
  history.Started(kWaitingJob, kWaitHour);
  CHECK(history.Predict(kWaitingJob, 0));
}

TEST_CASE("Equal waits give an interval of less than an eighth of their length") {
  WaitHistory history;
  for (int i = 0; i < 100; ++i) history.Started(kWaitingJob, kWaitHour);
  const auto interval = history.Predict(kWaitingJob, 0);
  REQUIRE(interval);
  CHECK(interval->low <= kWaitHour);
  CHECK(interval->high >= kWaitHour);
  CHECK(interval->high - interval->low < kWaitHour / 8);
}

TEST_CASE("The interval of a steady stream is that of the sorted waits, within two bins") {
  WaitHistory history;
  std::vector<DurationMs> waits;
  std::uint64_t seed = 7;
  for (int i = 0; i < 250; ++i) {
    waits.push_back(static_cast<DurationMs>(std::pow(2, 22 + 4 * RandomPart(seed))));
    history.Started(kWaitingJob, waits.back());
  }
  std::sort(waits.begin(), waits.end());
  const auto interval = history.Predict(kWaitingJob, 0);
  REQUIRE(interval);
  const auto low = static_cast<double>(waits[2]), high = static_cast<double>(waits[229]);
  CHECK(static_cast<double>(interval->low) > low / 1.2);
  CHECK(static_cast<double>(interval->low) < low * 1.1);
  CHECK(static_cast<double>(interval->high) > high / 1.1);
  CHECK(static_cast<double>(interval->high) < high * 1.2);
}

TEST_CASE("85 to 95 % of the waits are inside their intervals, in steady streams and under drift") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto steady = [](int, double random) {
      return static_cast<DurationMs>(kWaitMinute * std::pow(500, random));
    };
    const auto drift = [](int i, double random) {  // to eight times and back, every 1,000 waits
      const double phase = std::abs(i % 1000 - 500) / 500.0;
      return static_cast<DurationMs>(10 * kWaitMinute * std::pow(8, phase) * std::pow(10, random));
    };
    const auto jump = [](int i, double random) {  // to 30 times and back, every 400 waits
      return static_cast<DurationMs>((i / 400 % 2 == 0 ? 1 : 30) * kWaitMinute * (1 + 9 * random));
    };
    for (const double part : {Inside(4000, seed, steady), Inside(4000, seed, drift),
                              Inside(4000, seed, jump)}) {
      CHECK(part >= 0.85);
      CHECK(part <= 0.95);
    }
  }
}

TEST_CASE("A job that has waited longer gets the interval of the waits that were longer") {
  WaitHistory history;
  for (int i = 0; i < 100; ++i) history.Started(kWaitingJob, i % 2 == 0 ? kWaitMinute : 10 * kWaitHour);
  const auto first = history.Predict(kWaitingJob, 0), later = history.Predict(kWaitingJob, kWaitHour);
  REQUIRE((first && later));
  CHECK(first->low <= kWaitMinute);
  CHECK(first->high >= 10 * kWaitHour);
  CHECK(later->low > 8 * kWaitHour);
  CHECK(later->high >= 10 * kWaitHour);
  CHECK(!history.Predict(kWaitingJob, 100 * kWaitHour));  // no job waited so long
}

TEST_CASE("Waits of jobs that are alike count more than other waits") {
  WaitHistory history;
  WaitSubject small = kWaitingJob, large = kWaitingJob;
  large.size_octave = 8;
  for (int i = 0; i < 200; ++i) {
    history.Started(small, kWaitMinute);
    history.Started(large, 20 * kWaitHour);
  }
  CHECK(history.Predict(small, 0)->high < history.Predict(large, 0)->high);
  CHECK(history.Predict(small, 0)->low < history.Predict(large, 0)->low);
  WaitSubject other = kWaitingJob;
  other.again = true;
  CHECK(!history.Predict(other, 0));  // these are compared with each other only
}

TEST_CASE("The history forgets old groups, and keeps what all waits say") {
  WaitHistory history;
  for (std::size_t i = 0; i < 4 * WaitHistory::kMostGroups; ++i) {
    WaitSubject job = kWaitingJob;
    job.queue = QueueId(i);
    history.Started(job, kWaitHour);
  }
  CHECK(history.Predict(kWaitingJob, 0));
}

}  // namespace
}  // namespace tephra
