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

}  // namespace tephra
