// Time is an argument, never asked of a clock: milliseconds since the Unix epoch when live, since
// the start of the trace offline.
#pragma once

#include <cstdint>

namespace tephra {

using TimeMs = std::int64_t;
using DurationMs = std::int64_t;

constexpr DurationMs kSecondMs = 1000;

// Whether the time is of a clock: times of a trace are within 20 years of its start.
constexpr bool IsUnixTime(TimeMs time) {
  return time >= TimeMs{20} * 365 * 24 * 3600 * kSecondMs;
}

}  // namespace tephra
