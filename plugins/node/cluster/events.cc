#include "plugins/node/cluster/events.h"

#include <algorithm>
#include <ctime>

#include <nlohmann/json.hpp>

namespace tephra::node {
namespace {

constexpr const char* kComponent = "tephra-node";
constexpr std::size_t kMostMessage = 1000;  // the API server takes 1024 bytes

std::string Namespace(const ClusterEvent& event) {
  return event.pod_namespace.empty() ? "default" : event.pod_namespace;
}

std::string Rfc3339(std::int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace

std::string EventPath(const ClusterEvent& event) {
  return "/api/v1/namespaces/" + Namespace(event) + "/events";
}

std::string EventBody(const ClusterEvent& event, const std::string& node, const std::string& id,
                      std::int64_t unix_s) {
  using nlohmann::ordered_json;
  ordered_json about = {
      {"apiVersion", "v1"}, {"kind", event.kind}, {"name", event.name}, {"uid", event.uid}};
  if (!event.pod_namespace.empty()) about["namespace"] = event.pod_namespace;
  const std::string time = Rfc3339(unix_s);
  const ordered_json body = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", {{"name", event.name + "." + id}, {"namespace", Namespace(event)}}},
      {"involvedObject", std::move(about)},
      {"reason", event.reason},
      {"message", event.message.substr(0, kMostMessage)},
      {"type", event.warning ? "Warning" : "Normal"},
      {"source", {{"component", kComponent}, {"host", node}}},
      {"reportingComponent", kComponent},
      {"reportingInstance", node},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"count", 1}};
  return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

bool EventBudget::Take(std::int64_t now_ms) {
  const std::int64_t grown = (now_ms - counted_ms_) / kEveryMs;
  left_ = std::min(kAtOnce, left_ + grown);
  counted_ms_ += grown * kEveryMs;
  if (left_ == 0) return false;
  --left_;
  return true;
}

}  // namespace tephra::node
