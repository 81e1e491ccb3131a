// Reads pods from the JSON of the API server.
#include <limits>

#include <nlohmann/json.hpp>

#include "base/bad_input.h"
#include "plugins/node/cluster/pod_watch.h"
#include "plugins/node/kubelet/checkpoint.h"
#include "plugins/node/slice_keys.h"
#include "plugins/node/slices_annotation.h"

namespace tephra::node {
namespace {

using nlohmann::json;

constexpr std::size_t kHashLength = 32;  // hexadecimal digits of MD5

// Most of a pod is in these members, which are not read here.
bool Wanted(int, json::parse_event_t event, json& parsed) {
  if (event != json::parse_event_t::key) return true;
  const auto& key = parsed.get_ref<const std::string&>();
  for (const char* const skipped :
       {"managedFields", "volumes", "conditions", "containerStatuses", "initContainerStatuses",
        "env", "envFrom", "command", "args", "resources", "volumeMounts", "livenessProbe",
        "readinessProbe", "startupProbe", "lifecycle", "tolerations", "ownerReferences"}) {
    if (key == skipped) return false;
  }
  return true;
}

const json& At(const json& object, const char* key) {
  static const json kNothing;
  const auto member = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && member != object.end() ? *member : kNothing;
}

std::string Text(const json& object, const char* key) {
  const json& value = At(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::optional<std::uint32_t> RunAsUser(const json& spec) {
  const json& user = At(At(spec, "securityContext"), "runAsUser");
  if (!user.is_number_unsigned() || user > std::numeric_limits<std::uint32_t>::max()) {
    return std::nullopt;
  }
  return user.get<std::uint32_t>();
}

PodFacts ReadPod(const json& pod) {
  const json& metadata = At(pod, "metadata");
  PodFacts facts;
  facts.uid = Text(metadata, "uid");
  // The API server's copy of a static pod has another UID than the kubelet's, which is a hash: no
  // UID of another pod looks like that.
  const std::string original = Text(At(metadata, "annotations"), "kubernetes.io/config.mirror");
  if (original.size() == kHashLength &&
      original.find_first_not_of("0123456789abcdef") == std::string::npos) {
    facts.uid = original;
  }
  facts.pod_namespace = Text(metadata, "namespace");
  facts.name = Text(metadata, "name");
  const json& slices = At(At(metadata, "annotations"), kSlicesKey);
  if (slices.is_string()) facts.slices = slices.get<std::string>();
  facts.queue = Text(At(metadata, "annotations"), kQueueKey);
  facts.signature = Text(At(metadata, "annotations"), kSignatureKey);
  facts.created_s = ParseApiTime(Text(metadata, "creationTimestamp")).value_or(0);
  facts.scheduler = Text(At(pod, "spec"), "schedulerName");
  const std::string phase = Text(At(pod, "status"), "phase");
  facts.ended = phase == "Succeeded" || phase == "Failed";
  const json& spec = At(pod, "spec");
  for (const json& container : At(spec, "initContainers")) {
    if (Text(container, "restartPolicy") != "Always") facts.init.insert(Text(container, "name"));
  }
  const std::optional<std::uint32_t> of_all = RunAsUser(spec);
  for (const char* const kind : {"initContainers", "containers"}) {
    for (const json& container : At(spec, kind)) {
      const std::optional<std::uint32_t> its = RunAsUser(container);
      if (its || of_all) facts.users[Text(container, "name")] = its ? *its : *of_all;
    }
  }
  return facts;
}

Problem Unreadable(const PodFacts& pod) {
  return {problem_kind::kPod, pod.pod_namespace + "/" + pod.name,
          "metadata.uid: " + Quoted(pod.uid) + ": is not the UID of a pod; its containers get no GPUs"};
}

absl::Status BadAnswer(const char* what) {
  return absl::UnavailableError(std::string("API server: list or watch of pods: ") + what);
}

}  // namespace

absl::StatusOr<PodPage> ParsePodPage(std::string_view text) {
  const json all = json::parse(text, Wanted, false);
  const json& items = At(all, "items");
  PodPage page;
  page.resource_version = Text(At(all, "metadata"), "resourceVersion");
  page.next = Text(At(all, "metadata"), "continue");
  if (!all.is_object() || page.resource_version.empty() ||
      (!items.is_array() && !items.is_null())) {
    return BadAnswer("expected a list of pods");
  }
  for (const json& item : items) {
    PodFacts pod = ReadPod(item);
    if (!IsPodUid(pod.uid)) {
      page.unreadable.push_back(Unreadable(pod));
      continue;
    }
    std::string uid = pod.uid;
    page.pods.insert_or_assign(std::move(uid), std::move(pod));
  }
  return page;
}

absl::StatusOr<PodEvent> ParsePodEvent(std::string_view line) {
  const json all = json::parse(line, Wanted, false);
  const std::string type = Text(all, "type");
  const json& object = At(all, "object");
  if (type == "ERROR") {
    const json& code = At(object, "code");
    const std::string words = Quoted(Text(object, "message"));
    return code.is_number_integer() && code == 410
               ? absl::OutOfRangeError("API server: watch of pods: " + words)
               : absl::UnavailableError("API server: watch of pods: " + words);
  }
  PodEvent event;
  event.resource_version = Text(At(object, "metadata"), "resourceVersion");
  if (type == "BOOKMARK" && !event.resource_version.empty()) return event;
  if (type != "ADDED" && type != "MODIFIED" && type != "DELETED") {
    return BadAnswer("a line of the watch is not an event");
  }
  event.kind = type == "DELETED" ? PodEvent::Kind::kGone : PodEvent::Kind::kChanged;
  event.pod = ReadPod(object);
  if (event.resource_version.empty()) return BadAnswer("a pod without resourceVersion");
  if (!IsPodUid(event.pod.uid)) {
    event.kind = PodEvent::Kind::kBookmark;
    event.unreadable = Unreadable(event.pod);
  }
  return event;
}

}  // namespace tephra::node
