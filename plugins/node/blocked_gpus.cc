#include "plugins/node/blocked_gpus.h"

#include <utility>

namespace tephra::node {

bool BlockedGpus::Update(const std::map<std::string, Holding>& holdings, const std::set<std::string>& orphans,
                         Clock::time_point now) {
  std::erase_if(since_, [&](const auto& known) { return orphans.count(known.first) == 0; });
  std::map<std::size_t, std::string> why;
  for (const std::string& nonce : orphans) {
    const Clock::time_point since = since_.emplace(nonce, now).first->second;
    const auto holding = holdings.find(nonce);
    if (holding == holdings.end() || now - since < after_) continue;
    const Holder& holder = holding->second.grant.holder;
    for (const GrantedSlice& slice : holding->second.grant.slices) {
      why.emplace(slice.gpu, "container " + holder.container + " of pod " + holder.pod_namespace + "/" + holder.pod_name +
                                 " still uses it, although the pod is gone");
    }
  }
  return std::exchange(why_, std::move(why)) != why_;
}

void BlockedGpus::Mark(Gpus& gpus) const {
  for (const auto& [index, why] : why_) {
    if (index >= gpus.devices.size() || !gpus.devices[index].hardware.healthy) continue;
    gpus.devices[index].hardware.healthy = false;
    gpus.devices[index].unhealthy = why;
  }
}

}  // namespace tephra::node
