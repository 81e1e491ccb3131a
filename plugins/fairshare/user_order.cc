#include "plugins/fairshare/user_order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "engine/priority.h"

namespace tephra {
namespace {

// In steps of 1e-12, so that almost equal histories are equal.
std::int64_t UsedBy(const Snapshot& snapshot, QueueId queue, const std::string& user) {
  const Usage& usage = snapshot.books().usage;
  const Spent spent = usage.Of(queue, user);
  const Resources& total = snapshot.hardware().total();
  double most = 0;
  for (Kind k = 0; k < kMaxKinds; ++k) {
    if (total[k] <= 0) continue;
    most = std::max(most, spent[k] / (static_cast<double>(total[k]) * usage.endless_ms()));
  }
  return std::llround(std::min(most * 1e12, 1e18));
}

}  // namespace

void SortByUsers(const Snapshot& snapshot, QueueId queue, std::vector<JobId>& jobs) {
  std::map<std::string, std::int64_t> used;
  for (const JobId job : jobs) used.try_emplace(snapshot.job(job).user);
  if (used.size() < 2) return;
  for (auto& [user, part] : used) part = UsedBy(snapshot, queue, user);
  const auto turn = [&](JobId job) {
    const JobRow& row = snapshot.job(job);
    return std::pair(-PriorityOf(snapshot, row), used.at(row.user));
  };
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](JobId a, JobId b) { return turn(a) < turn(b); });
}

}  // namespace tephra
