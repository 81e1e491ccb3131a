#include "plugins/preemption/place_trial.h"

#include <algorithm>

namespace tephra {

PlaceTrial::PlaceTrial(const Ledger& ledger, ClassId cls, NodeId node)
    : facts_(ledger.facts()), node_(node), cls_(facts_.classes[cls]), room_(ledger.View(node)) {
  for (std::size_t i = 0; i < cls_.limits.size(); ++i) {
    const LimitId limit = cls_.limits[i];
    const std::uint32_t domain = facts_.hardware.domain(facts_.classes.topology_key(limit), node);
    if (domain == Hardware::kNoDomain) continue;
    counts_.push_back(
        {limit, domain, i, ledger.occupancy().limit_count(limit, domain)});
  }
}

void PlaceTrial::Charge(const Occupant& task, int sign) {
  const TaskClass& cls = facts_.classes[task.cls];
  if (task.node == node_) room_.Charge(cls, *task.slices, sign);
  for (Count& count : counts_) {
    const auto it = std::find(cls.limits.begin(), cls.limits.end(), count.limit);
    if (it == cls.limits.end()) continue;
    const std::string& key = facts_.classes.topology_key(count.limit);
    if (facts_.hardware.domain(key, task.node) != count.domain) continue;
    count.held.Add(cls.use(static_cast<std::size_t>(it - cls.limits.begin())), sign);
  }
}

std::int32_t PlaceTrial::Copies(const Fit& fit) const {
  std::int32_t left = DomainLimit::kNoBound;
  for (const Count& count : counts_) {
    left = std::min(left, LeftOf(facts_, cls_, count.index, count.held, node_));
  }
  return fit.Copies(room_.view(), cls_, left);
}

}  // namespace tephra
