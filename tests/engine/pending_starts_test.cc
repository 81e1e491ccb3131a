#include "engine/pending_starts.h"

#include <catch2/catch.hpp>

#include "engine/start_interval.h"

namespace tephra {
namespace {

constexpr DurationMs kStartMinute = 60 * kSecondMs, kStartHour = 60 * kStartMinute;

PendingWork WorkIn(std::size_t queue, std::int32_t priority = 0) {
  return {QueueId(queue), priority, 8, kStartHour, true, false};
}

// Jobs that wait for so long, one after the other.
void Teach(PendingStarts& starts, TimeMs& now, int jobs, DurationMs wait) {
  for (int i = 0; i < jobs; ++i) {
    const JobId job(std::size_t{1000});
    starts.Enter(job, WorkIn(0));
    starts.Found(job);
    starts.Advance(now += wait);
    starts.Leave(job, true);
  }
}

TEST_CASE("A job has an interval from the cycle that found it pending until it starts") {
  PendingStarts starts;
  TimeMs now = 0;
  Teach(starts, now, 50, kStartHour);
  const JobId job(std::size_t{1});
  starts.Enter(job, WorkIn(0));
  CHECK(!starts.Of(job).known());
  const auto interval = starts.Found(job);
  REQUIRE(interval);
  CHECK(interval->low <= now + kStartHour);
  CHECK(interval->high >= now + kStartHour);
  CHECK(starts.Of(job) == *interval);
  CHECK(!starts.Found(job));  // not the first time
  starts.Leave(job, true);
  CHECK(!starts.Of(job).known());
}

TEST_CASE("Jobs that start at once, and jobs that go before they start, teach nothing") {
  PendingStarts starts;
  TimeMs now = 0;
  for (int i = 0; i < 100; ++i) {
    const JobId job(std::size_t{1});
    starts.Enter(job, WorkIn(0));
    const bool waits = i % 2 == 0;
    if (waits) starts.Found(job);
    starts.Advance(now += kStartHour);
    starts.Leave(job, !waits);
  }
  const JobId job(std::size_t{1});
  starts.Enter(job, WorkIn(0));
  CHECK(!starts.Found(job));
}

TEST_CASE("An interval never begins in the past, and is gone if no job waited so long") {
  PendingStarts starts;
  TimeMs now = 0;
  Teach(starts, now, 50, kStartHour);
  const JobId job(std::size_t{1});
  starts.Enter(job, WorkIn(0));
  const StartInterval first = *starts.Found(job);
  starts.Advance(now = first.high);
  const StartInterval later = starts.Of(job);
  if (later.known()) {
    CHECK(later.low >= now);
    CHECK(later.high >= later.low);
  }
  starts.Advance(now += 1000 * kStartHour);
  CHECK(!starts.Of(job).known());
}

TEST_CASE("Intervals that end without a start make later intervals wider") {
  PendingStarts starts;
  TimeMs now = 0;
  Teach(starts, now, 50, kStartHour);
  StartInterval narrow;
  for (std::size_t i = 0; i < 20; ++i) {
    starts.Enter(JobId(i), WorkIn(0));
    narrow = *starts.Found(JobId(i));
  }
  const TimeMs began = now;
  starts.Advance(now = narrow.high + kStartHour);  // all of them are late
  const JobId after(std::size_t{20});
  starts.Enter(after, WorkIn(0));
  const StartInterval wide = *starts.Found(after);
  CHECK(wide.high - now > narrow.high - began);
}

TEST_CASE("The sums of work follow changes of jobs") {
  PendingStarts starts;
  const JobId a(std::size_t{1}), b(std::size_t{2});
  starts.Enter(a, WorkIn(0, 5));
  starts.Enter(b, WorkIn(3));
  CHECK(starts.Check({{a, WorkIn(0, 5)}, {b, WorkIn(3)}}) == "");
  CHECK(starts.Check({{a, WorkIn(0, 5)}}) != "");
  CHECK(starts.Check({{a, WorkIn(0, 6)}, {b, WorkIn(3)}}) != "");
  starts.Change(a, WorkIn(2, 7));
  CHECK(starts.Check({{a, WorkIn(2, 7)}, {b, WorkIn(3)}}) == "");
  starts.Leave(b, false);
  CHECK(starts.Check({{a, WorkIn(2, 7)}}) == "");
}

TEST_CASE("A text names whole minutes, and the day once") {
  constexpr TimeMs kDay = 1'764'028'800'000;  // 2025-11-25T00:00:00Z
  CHECK(StartIntervalText({kDay + 845 * kStartMinute + 999, kDay + 919 * kStartMinute + 1}) ==
        "starts between 2025-11-25T14:05Z and 15:20Z (90 %)");
  CHECK(StartIntervalText({kDay + 23 * kStartHour, kDay + 25 * kStartHour}) ==
        "starts between 2025-11-25T23:00Z and 2025-11-26T01:00Z (90 %)");
  CHECK(StartIntervalText({90 * kStartMinute, 200 * kStartMinute}) ==
        "starts between 1h30m and 3h20m of simulated time (90 %)");
}

}  // namespace
}  // namespace tephra
