#include "engine/start_interval.h"

#include <absl/time/time.h>

namespace tephra {
namespace {

constexpr DurationMs kMinute = 60 * kSecondMs;

std::string Text(TimeMs ms, const char* format) {
  return absl::FormatTime(format, absl::FromUnixMillis(ms), absl::UTCTimeZone());
}

}  // namespace

std::string StartIntervalText(const StartInterval& interval) {
  const TimeMs low = interval.low / kMinute * kMinute;
  const TimeMs high = (interval.high + kMinute - 1) / kMinute * kMinute;
  std::string text = "starts between ";
  if (!IsUnixTime(high)) {
    text += absl::FormatDuration(absl::Milliseconds(low)) + " and ";
    text += absl::FormatDuration(absl::Milliseconds(high)) + " of simulated time";
  } else {
    const bool same_day = Text(low, "%Y-%m-%d") == Text(high, "%Y-%m-%d");
    text += Text(low, "%Y-%m-%dT%H:%MZ") + " and ";
    text += Text(high, same_day ? "%H:%MZ" : "%Y-%m-%dT%H:%MZ");
  }
  return text + " (90 %)";
}

}  // namespace tephra
