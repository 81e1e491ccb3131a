#include "plugins/framework/priority.h"

#include <algorithm>

namespace tephra {
namespace {

// How often the time has passed since the job was created, whatever times somebody gave.
std::int64_t Boosts(TimeMs created, TimeMs now, DurationMs each) {
  if (each <= 0 || created >= now) return 0;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  const auto waited = static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(created);
  return static_cast<std::int64_t>(std::min(waited / static_cast<std::uint64_t>(each), kMost));
}

}  // namespace

std::int64_t PriorityOf(const Snapshot& snapshot, const JobRow& job) {
  return job.priority + Boosts(job.created, snapshot.now(), snapshot.config().priority_boost_ms);
}

}  // namespace tephra
