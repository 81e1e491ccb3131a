#include "plugins/node/health_events.h"

#include "plugins/node/slices_annotation.h"

namespace tephra::node {
namespace {

constexpr const char* kUnhealthy = "GPUUnhealthy";
constexpr const char* kHealthy = "GPUHealthy";

// One pod's part of one GPU.
struct Part {
  const Holder* holder = nullptr;
  std::string slices;  // "main (fraction), helper (fraction)"
};

std::map<std::string, Part> PartsOf(std::size_t gpu,
                                    const std::map<std::string, Holding>& holdings) {
  std::map<std::string, Part> parts;  // by the pod's UID
  for (const auto& [nonce, holding] : holdings) {
    const Holder& holder = holding.grant.holder;
    for (const GrantedSlice& slice : holding.grant.slices) {
      if (slice.gpu != gpu) continue;
      Part& part = parts[holder.pod_uid];
      part.holder = &holder;
      part.slices +=
          (part.slices.empty() ? "" : ", ") + holder.container + " (" + ModeWord(slice.mode) + ")";
    }
  }
  return parts;
}

}  // namespace

std::vector<ClusterEvent> HealthEvents(const std::string& node, const Gpus& before, const Gpus& now,
                                       const std::map<std::string, Holding>& holdings) {
  std::vector<ClusterEvent> events;
  for (std::size_t i = 0; i < now.devices.size(); ++i) {
    const Gpu& gpu = now.devices[i];
    const bool was = i >= before.devices.size() || before.devices[i].hardware.healthy;
    const bool is = gpu.hardware.healthy;
    if (was == is) continue;
    const char* const reason = is ? kHealthy : kUnhealthy;
    const std::string name = "GPU " + std::to_string(i) + " (" + gpu.hardware.uuid + ")";
    const std::string why = is ? "" : ": " + gpu.unhealthy;
    const std::map<std::string, Part> parts = PartsOf(i, holdings);
    std::string held;
    for (const auto& [uid, part] : parts) {
      held += (held.empty() ? "; held by " : ", ") + part.holder->pod_namespace + "/" +
              part.holder->pod_name + ": " + part.slices;
    }
    events.push_back(
        {"Node", "", node, node, !is, reason,
         name + (is ? " takes containers again" : " takes no new container") + why + held});
    for (const auto& [uid, part] : parts) {
      events.push_back({"Pod", part.holder->pod_namespace, part.holder->pod_name, uid, !is, reason,
                        name + " of node " + node +
                            (is ? " is well again" : " is unhealthy" + why) +
                            "; it has containers " + part.slices + " there"});
    }
  }
  return events;
}

}  // namespace tephra::node
