// Profile: how much of something is free from when on, as steps in exact time.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "topology/base/time.h"

namespace tephra {

constexpr TimeMs kForever = std::numeric_limits<TimeMs>::max();

class Profile {
 public:
  struct Change {
    TimeMs at;
    std::int64_t more;  // from then on
  };
  // The amount from `from` on, with the changes, which come later or never (kForever), in any
  // order; nothing is asked about the time before.
  Profile(TimeMs from, std::int64_t amount, std::vector<Change> changes);

  // `amount` more, which may be below zero, from `from` until before `until`.
  void Add(TimeMs from, TimeMs until, std::int64_t amount);
  // The first time from `from` on at which less than `amount` is free; kForever: none before
  // `until`.
  TimeMs Short(TimeMs from, TimeMs until, std::int64_t amount) const;
  // The earliest time from `from` on at which `amount` is free for so long; kForever: never.
  // `duration` 0: forever.
  TimeMs Earliest(TimeMs from, DurationMs duration, std::int64_t amount) const;

 private:
  struct Step {
    TimeMs at;
    std::int64_t free;
  };
  std::size_t StepAt(TimeMs time) const;
  std::size_t Split(TimeMs time);

  std::vector<Step> steps_;  // rising, the first from the beginning
};

// When what starts at `at` has ended; kForever: it is not known how long it runs (0).
constexpr TimeMs Until(TimeMs at, DurationMs run) {
  return run <= 0 || at > kForever - run ? kForever : at + run;
}

}  // namespace tephra
