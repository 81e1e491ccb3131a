// LossLimit: how much work the evictions for one job may lose. Work is GPU time, in GPU-milliseconds.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>

#include "topology/base/time.h"

namespace tephra {

struct LossLimit {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  std::int64_t most = kNone;    // of all victims together; kNone: no limit
  std::int64_t per_second = 0;  // of one victim, for each second that it would still run
  TimeMs since = 0;             // the job has waited since then
  TimeMs none_from = 0;         // from then on there is no limit

  bool none() const { return most == kNone; }
  // Whether a victim may lose so much. `left`: how long it would still run; 0: not known.
  bool Allows(std::int64_t loss, DurationMs left) const {
    return none() || (loss <= most && (left <= 0 || loss <= per_second * (left / kSecondMs)));
  }
  // When the job may have a victim that loses more, if the victim loses nothing more until then: it has
  // waited longer by then. REQUIRES: !none().
  TimeMs CoversAt(TimeMs now, std::int64_t loss) const {
    if (per_second <= 0) return none_from;
    return std::min(none_from, now + (std::max<std::int64_t>(loss - most, 0) / per_second + 1) * kSecondMs);
  }
  auto operator<=>(const LossLimit&) const = default;
};

// Times at which jobs are asked again fall together, so that one cycle asks many.
constexpr TimeMs RoundedUp(TimeMs at) {
  constexpr DurationMs kStep = 60 * kSecondMs;
  return (at + kStep - 1) / kStep * kStep;
}

// Victims would lose more work than they may.
struct ExcessLoss {
  std::int64_t loss, limit;
  TimeMs since;      // the job has waited since then
  TimeMs none_from;  // when there is no limit any more
  TimeMs again_at;   // when the limit may be enough

  // When victims are searched again. A job that started since may be a cheaper victim, so the search does
  // not wait until `again_at`. The waits grow in proportion, so that a long wait has few searches.
  TimeMs SearchedFrom(TimeMs now) const {
    return std::min(again_at, RoundedUp(now + std::max(60 * kSecondMs, (now - since) / 16)));
  }
};

}  // namespace tephra
