#include "engine/timeline.h"

#include <array>
#include <limits>

namespace tephra {

TimeMs ExpectedEnd(TimeMs started, RunEstimate estimate, TimeMs now) {
  if (estimate.expected <= 0) return 0;
  if (estimate.stated <= 0) {
    DurationMs run = estimate.expected;
    const DurationMs ran = now - started;
    constexpr DurationMs kMost = std::numeric_limits<DurationMs>::max() / 4;
    while (run < ran) run = run < kMost ? run * 4 : ran;
    return started + run;
  }
  constexpr DurationMs kMinute = 60 * kSecondMs, kHour = 60 * kMinute;
  constexpr std::array<DurationMs, 11> kMore = {kMinute,    5 * kMinute, 15 * kMinute, 30 * kMinute,
                                                kHour,      2 * kHour,   5 * kHour,    10 * kHour,
                                                20 * kHour, 50 * kHour,  100 * kHour};
  if (started + estimate.expected >= now) return started + estimate.expected;
  const TimeMs expected = started + estimate.stated;
  if (expected >= now) return expected;
  for (const DurationMs more : kMore) {
    if (expected + more >= now) return expected + more;
  }
  const DurationMs steps = (now - expected + kMore.back() - 1) / kMore.back();
  return expected + steps * kMore.back();
}

}  // namespace tephra
