#include "plugins/backfill/profile.h"

#include <algorithm>

namespace tephra {

Profile::Profile(TimeMs from, std::int64_t amount, std::vector<Change> changes)
    : steps_{{from, amount}} {
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });
  for (const Change& change : changes) {
    if (change.at == kForever) break;
    if (steps_.back().at < change.at) steps_.push_back({change.at, steps_.back().free});
    steps_.back().free += change.more;
  }
}

// The step that holds at that time.
std::size_t Profile::StepAt(TimeMs time) const {
  const auto after = std::upper_bound(steps_.begin() + 1, steps_.end(), time,
                                      [](TimeMs t, const Step& step) { return t < step.at; });
  return static_cast<std::size_t>(after - steps_.begin()) - 1;
}

// The step that begins at that time, new if there was none.
std::size_t Profile::Split(TimeMs time) {
  const std::size_t here = StepAt(time);
  if (steps_[here].at >= time) return here;
  steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(here) + 1, {time, steps_[here].free});
  return here + 1;
}

void Profile::Add(TimeMs from, TimeMs until, std::int64_t amount) {
  if (from >= until) return;
  const std::size_t first = Split(from);
  const std::size_t last = until == kForever ? steps_.size() : Split(until);
  for (std::size_t i = first; i < last; ++i) steps_[i].free += amount;
}

TimeMs Profile::Short(TimeMs from, TimeMs until, std::int64_t amount) const {
  for (std::size_t i = StepAt(from); i < steps_.size() && steps_[i].at < until; ++i) {
    if (steps_[i].free < amount) return std::max(from, steps_[i].at);
  }
  return kForever;
}

TimeMs Profile::Earliest(TimeMs from, DurationMs duration, std::int64_t amount) const {
  TimeMs start = from;
  bool open = false;  // free from `start` on, as far as was looked
  for (std::size_t i = StepAt(from); i < steps_.size(); ++i) {
    if (open && steps_[i].at >= Until(start, duration)) return start;
    if (steps_[i].free < amount) {
      open = false;
    } else if (!open) {
      open = true;
      start = std::max(from, steps_[i].at);
    }
  }
  return open ? start : kForever;
}

}  // namespace tephra
