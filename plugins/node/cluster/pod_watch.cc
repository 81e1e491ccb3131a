#include "plugins/node/cluster/pod_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "plugins/node/kubelet/checkpoint.h"
#include "plugins/node/slices_annotation.h"
#include "sidecar/log.h"
#include "text/bad_input.h"

namespace tephra::node {
namespace {

using nlohmann::json;
using WatchClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kPageSize = 100;
constexpr std::size_t kHashLength = 32;  // hexadecimal digits of MD5
constexpr int kWatchSeconds = 290;       // a watch ends by itself then, and goes on where it was
constexpr int kWatchGraceSeconds = 15;
constexpr milliseconds kFirstBackoff(200), kLongestBackoff(10'000);
// The kubelet hears of a pod at about the same time as we do: no list for what is on its way.
constexpr milliseconds kUnseenGrace(300);
constexpr milliseconds kCancelGlance(250);

// What a pod has most of and nobody here reads.
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
  // The API server's copy of a static pod has a UID of its own; its kubelet's is a hash, which no
  // other pod's UID looks like.
  const std::string original = Text(At(metadata, "annotations"), "kubernetes.io/config.mirror");
  if (original.size() == kHashLength &&
      original.find_first_not_of("0123456789abcdef") == std::string::npos) {
    facts.uid = original;
  }
  facts.pod_namespace = Text(metadata, "namespace");
  facts.name = Text(metadata, "name");
  const json& slices = At(At(metadata, "annotations"), kSlicesKey);
  if (slices.is_string()) facts.slices = slices.get<std::string>();
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

std::string Escaped(const std::string& text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_') {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

absl::Status BadAnswer(const char* what) {
  return absl::UnavailableError(std::string("API server: pods: ") + what);
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
    return BadAnswer("no list of pods");
  }
  for (const json& item : items) {
    PodFacts pod = ReadPod(item);
    if (!IsPodUid(pod.uid)) return BadAnswer("a pod without UID");
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
    return BadAnswer("a line of the watch that is no event");
  }
  event.kind = type == "DELETED" ? PodEvent::Kind::kGone : PodEvent::Kind::kChanged;
  event.pod = ReadPod(object);
  if (!IsPodUid(event.pod.uid) || event.resource_version.empty()) {
    return BadAnswer("a pod without UID or version");
  }
  return event;
}

PodWatch::PodWatch(ApiSettings api, std::string node)
    : api_(std::move(api)),
      path_("/api/v1/pods?fieldSelector=spec.nodeName%3D" + Escaped(node)),
      client_(api_),
      news_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      thread_([this] { Run(); }) {}

PodWatch::~PodWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    client_.Interrupt();
    changed_.notify_all();
  }
  thread_.join();
}

void PodWatch::SetFault(const absl::Status& status) {
  const std::string why(status.message());
  const std::lock_guard lock(mutex_);
  if (!why.empty() && why != fault_) LogWarning("pods cannot be watched", {{"why", why}});
  if (why.empty() && !fault_.empty()) LogInfo("pods are watched again");
  fault_ = why;
}

void PodWatch::Run() {
  milliseconds backoff = kFirstBackoff;
  std::string version;  // empty: to be listed anew
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      client_.Resume();
      if (list_again_) version.clear();
      list_again_ = false;
      listing_ = version.empty();
    }
    absl::Status status;
    bool asked_since = false;  // by somebody whom this list does not answer
    if (version.empty()) {
      auto listed = List();
      status = listed.status();
      if (listed.ok()) version = *std::move(listed);
      const std::lock_guard lock(mutex_);
      listing_ = false;
      asked_since = list_again_;
    }
    if (status.ok()) {
      SetFault(absl::OkStatus());
      if (!asked_since) status = Watch(version);
    }
    if (status.ok() || absl::IsCancelled(status)) {
      backoff = kFirstBackoff;
      continue;
    }
    if (absl::IsOutOfRange(status)) {
      version.clear();
      status = absl::UnavailableError("the watch has become too old, listing anew");
    }
    SetFault(status);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, backoff, [this] { return stopping_; });
    backoff = std::min(2 * backoff, kLongestBackoff);
  }
}

absl::StatusOr<std::string> PodWatch::List() {
  const int number = ++lists_begun_;
  std::map<std::string, PodFacts> pods;
  std::string version, next;
  do {
    std::string path = path_ + "&limit=" + std::to_string(kPageSize);
    if (!next.empty()) path += "&continue=" + Escaped(next);
    TEPHRA_ASSIGN_OR_RETURN(const ApiAnswer answer, client_.Get(path));
    if (answer.code != 200) return ApiError("list of pods", answer);
    TEPHRA_ASSIGN_OR_RETURN(PodPage page, ParsePodPage(answer.body));
    pods.merge(page.pods);
    version = page.resource_version;
    next = page.next;
  } while (!next.empty());
  const std::lock_guard lock(mutex_);
  pods_ = std::move(pods);
  lists_ended_ = number;
  changed_.notify_all();
  News();
  return version;
}

absl::Status PodWatch::Watch(std::string& version) {
  absl::Status why;
  const std::string path = path_ + "&watch=true&allowWatchBookmarks=true&timeoutSeconds=" +
                           std::to_string(kWatchSeconds) + "&resourceVersion=" + Escaped(version);
  TEPHRA_ASSIGN_OR_RETURN(
      const ApiAnswer answer,
      client_.Stream(path, kWatchSeconds + kWatchGraceSeconds, [&](std::string_view line) {
        if (line.empty()) return true;
        auto event = ParsePodEvent(line);
        why = event.status();
        if (!event.ok()) return false;
        version = event->resource_version;
        Apply(*event);
        return true;
      }));
  if (!why.ok()) return why;
  return answer.code == 200 ? absl::OkStatus() : ApiError("watch of pods", answer);
}

void PodWatch::Apply(const PodEvent& event) {
  if (event.kind == PodEvent::Kind::kBookmark) return;
  const std::lock_guard lock(mutex_);
  if (event.kind == PodEvent::Kind::kGone) {
    pods_.erase(event.pod.uid);
  } else {
    pods_.insert_or_assign(event.pod.uid, event.pod);
  }
  if (event.kind == PodEvent::Kind::kGone || event.pod.ended) News();
  changed_.notify_all();
}

void PodWatch::News() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(news_.get(), &one, sizeof one));
}

void PodWatch::Drain() {
  std::uint64_t count = 0;
  static_cast<void>(!read(news_.get(), &count, sizeof count));
}

// On a connection of its own, for it is seldom asked and the other one is busy with the watch. A
// list of one, since the right to list is there, and that to get is not needed otherwise.
absl::StatusOr<PodFacts> PodWatch::Named(const std::string& pod_namespace,
                                         const std::string& name) {
  ApiClient client(api_);
  TEPHRA_ASSIGN_OR_RETURN(const ApiAnswer answer,
                          client.Get(path_ + "%2Cmetadata.namespace%3D" + Escaped(pod_namespace) +
                                     "%2Cmetadata.name%3D" + Escaped(name)));
  if (answer.code != 200) return ApiError("list of pods", answer);
  TEPHRA_ASSIGN_OR_RETURN(const PodPage page, ParsePodPage(answer.body));
  if (page.pods.size() != 1) {
    return absl::NotFoundError("pod " + pod_namespace + "/" + name + " is not on this node");
  }
  return page.pods.begin()->second;
}

bool PodWatch::Over(const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  if (lists_ended_ == 0) return false;
  const auto found = pods_.find(uid);
  return found == pods_.end() || found->second.ended;
}

absl::StatusOr<PodFacts> PodWatch::Wait(const std::string& uid,
                                        std::chrono::steady_clock::time_point until,
                                        const std::function<bool()>& cancelled,
                                        const std::function<bool(const PodFacts&)>& enough) {
  const auto asked = WatchClock::now();
  std::unique_lock lock(mutex_);
  const int certain = lists_begun_ + 1;  // a list that began after this call
  while (true) {
    const auto now = WatchClock::now();
    const auto found = pods_.find(uid);
    if (found != pods_.end() && (enough(found->second) || now >= until)) return found->second;
    if (found == pods_.end() && lists_ended_ >= certain) {
      return absl::NotFoundError("pod " + uid + " is not on this node any more");
    }
    if (cancelled()) return absl::UnavailableError("pod " + uid + ": given up while waiting");
    if (now >= until) {
      return absl::UnavailableError("pod " + uid + ": the API server has not told of it" +
                                    (fault_.empty() ? "" : ": " + fault_));
    }
    if (found == pods_.end() && lists_begun_ < certain && now - asked >= kUnseenGrace &&
        !list_again_) {
      list_again_ = true;
      // A list that runs is let finish: where it takes long, those who ask would never see the end
      // of one.
      if (!listing_) client_.Interrupt();
    }
    changed_.wait_until(lock, std::min(until, now + kCancelGlance));
  }
}

std::size_t PodWatch::pods() const {
  const std::lock_guard lock(mutex_);
  return pods_.size();
}

std::string PodWatch::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

}  // namespace tephra::node
