#include "simulations/report/fabric_words.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tephra {

std::string Count(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 || what == "GPU" ? "" : "s");
}

std::int64_t GpusIn(const Hardware& hardware, const RankSpan& span) {
  std::int64_t gpus = 0;
  for (std::uint32_t rank = span.first; rank < span.last; ++rank) {
    gpus += static_cast<std::int64_t>(hardware.device_count(hardware.ranked()[rank]));
  }
  return gpus;
}

std::string DomainTitle(const Hardware& hardware, const Fabric::Domain& domain) {
  return domain.name + " (" + (domain.tier_name.empty() ? "" : domain.tier_name + ", ") + "tier " +
         std::to_string(domain.tier) + "): " + Count(domain.span.last - domain.span.first, "node") +
         ", " + Count(GpusIn(hardware, domain.span), "GPU");
}

std::string NodeTitle(const NodeSpec& node) {
  std::vector<std::pair<std::string, std::int64_t>> models;  // as they come on the node
  for (const DeviceHardware& device : node.devices) {
    const auto known = std::find_if(models.begin(), models.end(),
                                    [&](const auto& one) { return one.first == device.model; });
    if (known == models.end()) {
      models.emplace_back(device.model, 1);
    } else {
      ++known->second;
    }
  }
  if (models.empty()) return node.name + ": 0 GPU";
  std::string title = node.name;
  for (std::size_t m = 0; m < models.size(); ++m) {
    title += (m == 0 ? ": " : ", ") + Count(models[m].second, "GPU");
    if (!models[m].first.empty()) title += " " + models[m].first;
  }
  return title;
}

}  // namespace tephra
