#include "plugins/backfill/profile.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/timeline.h"
#include "tests/support/dice.h"

namespace tephra {
namespace {

constexpr DurationMs kMinuteMs = 60 * kSecondMs, kHourMs = 60 * kMinuteMs;

TEST_CASE("A profile finds the earliest time as a table of each instant does") {
  Dice dice(7);
  constexpr TimeMs kEnd = 40;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> free(kEnd, 3);
    std::vector<Profile::Change> changes;
    for (int i = dice.Below(4); i > 0; --i) {
      changes.push_back({dice.From(1, kEnd - 1), dice.From(-2, 2)});
      for (TimeMs t = changes.back().at; t < kEnd; ++t) free[t] += changes.back().more;
    }
    Profile profile(0, 3, changes);
    for (int i = dice.Below(6); i > 0; --i) {
      const TimeMs from = dice.Below(kEnd);
      const TimeMs until = dice.Percent(20) ? kForever : dice.Below(kEnd);
      const int amount = dice.From(-3, 3);
      profile.Add(from, until, amount);
      for (TimeMs t = from; t < std::min(until, kEnd); ++t) free[t] += amount;
    }
    const TimeMs from = dice.Below(kEnd / 2);
    const int amount = dice.From(1, 5), duration = dice.From(1, 8);
    const auto enough = [&](TimeMs start) {
      for (TimeMs t = start; t < std::min(start + duration, kEnd); ++t) {
        if (free[t] < amount) return false;
      }
      return true;
    };
    TimeMs earliest = from;
    while (earliest < kEnd && !enough(earliest)) ++earliest;
    INFO("round " << round);
    const TimeMs found = profile.Earliest(from, duration, amount);
    if (earliest < kEnd) {
      CHECK(found == earliest);
    } else {
      CHECK(found >= kEnd);
    }
    const TimeMs lacks = profile.Short(from, from + duration, amount);
    CHECK((lacks == kForever) == enough(from));
    if (lacks < kEnd) CHECK(free[lacks] < amount);
  }
}

TEST_CASE("A task without an end starts where there is always room") {
  Profile profile(0, 4, {{10, -4}, {20, +4}});
  CHECK(profile.Earliest(0, 10, 4) == 0);
  CHECK(profile.Earliest(0, 11, 4) == 20);
  CHECK(profile.Earliest(0, 0, 4) == 20);
  CHECK(profile.Earliest(0, 0, 5) == kForever);
  CHECK(Until(5, 0) == kForever);
  CHECK(Until(kForever - 1, 2) == kForever);
}

TEST_CASE("A task that outlives its estimate gets a longer estimate each time") {
  CHECK(ExpectedEnd(100, {0, 0}, 500) == 0);
  CHECK(ExpectedEnd(100, {50, 50}, 150) == 150);
  CHECK(ExpectedEnd(100, {50, 50}, 151) == 150 + kMinuteMs);
  CHECK(ExpectedEnd(100, {50, 50}, 150 + kMinuteMs) == 150 + kMinuteMs);
  CHECK(ExpectedEnd(100, {50, 50}, 151 + kMinuteMs) == 150 + 5 * kMinuteMs);
  CHECK(ExpectedEnd(0, {50, 50}, 51 + 50 * kHourMs) == 50 + 100 * kHourMs);
  CHECK(ExpectedEnd(0, {50, 50}, 51 + 100 * kHourMs) == 50 + 200 * kHourMs);
}

TEST_CASE("If a task outlives a prediction, its stated run time becomes the estimate") {
  CHECK(ExpectedEnd(100, {50, 600}, 150) == 150);
  CHECK(ExpectedEnd(100, {50, 600}, 151) == 700);
  CHECK(ExpectedEnd(100, {50, 600}, 701) == 700 + kMinuteMs);
  CHECK(ExpectedEnd(100, {50, 0}, 151) == 300);
  CHECK(ExpectedEnd(100, {50, 0}, 301) == 900);
  constexpr TimeMs kLast = std::numeric_limits<TimeMs>::max();
  CHECK(ExpectedEnd(1, {1, 0}, kLast) == kLast);
}

}  // namespace
}  // namespace tephra
