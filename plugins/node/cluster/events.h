// ClusterEvent: what people should hear of in `kubectl describe` of an object: of this node, or of
// a pod on it.
#pragma once

#include <cstdint>
#include <string>

namespace tephra::node {

struct ClusterEvent {
  std::string kind;           // "Node" or "Pod"
  std::string pod_namespace;  // of a pod
  std::string name;
  std::string uid;  // of a node its name, as the kubelet has it, for `kubectl describe` looks there
  bool warning = false;
  std::string reason;  // "GPUUnhealthy"
  std::string message;

  bool operator==(const ClusterEvent&) const = default;
};

// Events of a node are kept in the namespace "default".
std::string EventPath(const ClusterEvent& event);
// The body of the request that makes it (core/v1 Event). `id`: what no other event of the object
// has.
std::string EventBody(const ClusterEvent& event, const std::string& node, const std::string& id,
                      std::int64_t unix_s);

// EventBudget: a few at once, then few: a GPU that comes and goes does not fill the cluster's
// store.
class EventBudget {
 public:
  // Whether one more event may be sent at that time, of a clock that only goes forward.
  bool Take(std::int64_t now_ms);

 private:
  static constexpr std::int64_t kAtOnce = 25, kEveryMs = 10'000;
  std::int64_t left_ = kAtOnce;
  std::int64_t counted_ms_ = 0;  // up to when `left_` has grown
};

}  // namespace tephra::node
