#include "plugins/framework/gang_ask.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tephra {

Resources LeastDemand(const Snapshot& snapshot, const GangAsk& ask) {
  Resources demand;
  std::int32_t open = ask.least;
  for (const RoleAsk& role : ask.roles) {
    demand.Add(snapshot.cls(role.cls).demand, role.least);
    open -= role.least;
  }
  if (open == 0) return demand;
  std::vector<std::pair<std::int64_t, std::int32_t>> offers;  // demand of a task, tasks
  for (Kind k = 0; k < kMaxKinds; ++k) {
    offers.clear();
    for (const RoleAsk& role : ask.roles) {
      offers.emplace_back(snapshot.cls(role.cls).demand[k],
                          static_cast<std::int32_t>(role.tasks.size()) - role.least);
    }
    std::sort(offers.begin(), offers.end());
    std::int32_t left = open;
    for (const auto& [amount, tasks] : offers) {
      demand[k] += amount * std::min(left, tasks);
      left -= std::min(left, tasks);
    }
  }
  return demand;
}

Resources LeastMissing(const Snapshot& snapshot, const JobRow& job) {
  Resources least;
  std::int32_t open = job.min_member - job.counted();
  const RoleRow* spare = nullptr;
  for (const RoleRow& role : job.roles) {
    const std::int32_t missing = std::max(0, role.min - role.counted);
    if (missing > 0) least.Add(snapshot.cls(role.cls).demand, missing);
    open -= missing;
    if (spare == nullptr && role.pending + role.held > missing) spare = &role;
  }
  if (open > 0 && spare != nullptr) least.Add(snapshot.cls(spare->cls).demand, open);
  return least;
}

}  // namespace tephra
