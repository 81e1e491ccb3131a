#include "plugins/node/cluster/pod_watch.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include "base/log.h"

namespace tephra::node {
namespace {

using WatchClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kLargestPage = 100, kSmallerBy = 5;  // pods
constexpr int kWatchSeconds = 290;       // then the server ends a watch, and it goes on where it was
constexpr int kWatchGraceSeconds = 15;
constexpr milliseconds kFirstBackoff(200), kLongestBackoff(10'000);
// The kubelet learns of a pod at about the same time, so a pod on its way needs no list.
constexpr milliseconds kUnseenGrace(300);
constexpr milliseconds kCancelGlance(250);

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

}  // namespace

PodWatch::PodWatch(ApiSettings api, std::string node, Problems& problems)
    : api_(std::move(api)),
      path_("/api/v1/pods?fieldSelector=spec.nodeName%3D" + Escaped(node)),
      problems_(problems),
      page_size_(kLargestPage),
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
  if (!why.empty() && why != fault_) LogWarning("the pods of this node cannot be watched", {{"why", why}});
  if (why.empty() && !fault_.empty()) LogInfo("the pods of this node are watched again");
  fault_ = why;
}

void PodWatch::Run() {
  milliseconds backoff = kFirstBackoff;
  std::string version;  // empty: the pods are listed again
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
    bool asked_since = false;  // by a caller that this list does not answer
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
      status = absl::UnavailableError("the watch has become too old; listing the pods again");
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
  // The pods may be smaller than they were.
  page_size_ = std::min(kSmallerBy * page_size_, kLargestPage);
  do {
    TEPHRA_ASSIGN_OR_RETURN(PodPage page, Page(next));
    pods.merge(page.pods);
    for (const Problem& each : page.unreadable) problems_.Set(each.kind, each.subject, each.text);
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

// A page of one pod always fits. A page size that was found stays for the pages that follow.
absl::StatusOr<PodPage> PodWatch::Page(const std::string& next) {
  while (true) {
    std::string path = path_ + "&limit=" + std::to_string(page_size_);
    if (!next.empty()) path += "&continue=" + Escaped(next);
    const absl::StatusOr<ApiAnswer> answer = client_.Get(path);
    if (absl::IsResourceExhausted(answer.status()) && page_size_ > 1) {
      page_size_ = std::max(page_size_ / kSmallerBy, 1);
      continue;
    }
    TEPHRA_RETURN_IF_ERROR(answer.status());
    if (answer->code != 200) return ApiError("list of pods", *answer);
    return ParsePodPage(answer->body);
  }
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
        if (const auto& bad = event->unreadable) problems_.Set(bad->kind, bad->subject, bad->text);
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

// On its own connection, because the other one is busy with the watch. It lists, because the right to
// get pods is not needed otherwise.
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
      return absl::NotFoundError("pod " + uid + " is no longer on this node");
    }
    if (cancelled()) return absl::UnavailableError("pod " + uid + ": the call was cancelled");
    if (now >= until) {
      return absl::UnavailableError("pod " + uid + ": the API server has not reported this pod yet" +
                                    (fault_.empty() ? "" : ": " + fault_));
    }
    if (found == pods_.end() && lists_begun_ < certain && now - asked >= kUnseenGrace &&
        !list_again_) {
      list_again_ = true;
      // A running list may finish: if lists take long, callers would never see the end of one.
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
