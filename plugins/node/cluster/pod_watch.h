// PodWatch: the pods of this node from the API server, by UID, kept up to date by a list and a watch
// of its own. It lists again only when the watch ends, when the watch has become too old (410), or
// when a caller waits for a pod that it has not seen; never by the clock.
//
// Pages of the list become smaller when pods are large, so that pods of any size fit. A pod that
// cannot be read is a problem of that pod alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "plugins/node/cluster/api_client.h"
#include "plugins/node/cluster/pod_source.h"
#include "plugins/node/problems.h"

namespace tephra::node {

// One page of a list of pods.
struct PodPage {
  std::map<std::string, PodFacts> pods;  // by UID
  std::string resource_version;
  std::string next;  // the token of the next page; empty: this is the last page
  std::vector<Problem> unreadable;
};
absl::StatusOr<PodPage> ParsePodPage(std::string_view text);

// One line of a watch. OUT_OF_RANGE: it has become too old.
struct PodEvent {
  enum class Kind { kChanged, kGone, kBookmark } kind = Kind::kBookmark;
  PodFacts pod;  // not of a bookmark
  std::string resource_version;
  std::optional<Problem> unreadable;  // then the event is a bookmark
};
absl::StatusOr<PodEvent> ParsePodEvent(std::string_view line);

class PodWatch final : public PodSource {
 public:
  // REQUIRES: `problems` outlives it.
  PodWatch(ApiSettings api, std::string node, Problems& problems);
  ~PodWatch() override;

  absl::StatusOr<PodFacts> Wait(const std::string& uid, std::chrono::steady_clock::time_point until,
                                const std::function<bool()>& cancelled,
                                const std::function<bool(const PodFacts&)>& enough) override;

  absl::StatusOr<PodFacts> Named(const std::string& pod_namespace,
                                 const std::string& name) override;

  bool Over(const std::string& uid) const override;

  // Readable once a pod has ended or is gone; Drain makes it unreadable.
  int descriptor() const { return news_.get(); }
  void Drain();

  std::size_t pods() const;
  int lists() const { return lists_ended_; }
  std::string fault() const;  // of the last request; empty: it was answered

 private:
  void Run();
  absl::StatusOr<std::string> List();  // the resource version
  absl::StatusOr<PodPage> Page(const std::string& next);
  // Returns why the list has to be made again; OK: the watch may go on from `version`.
  absl::Status Watch(std::string& version);
  void Apply(const PodEvent& event);
  void News();
  void SetFault(const absl::Status& status);

  const ApiSettings api_;
  const std::string path_;
  Problems& problems_;
  int page_size_;  // of the next page; of the thread
  ApiClient client_;
  const Descriptor news_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, PodFacts> pods_;
  std::string fault_;
  bool list_again_ = false, listing_ = false;
  bool stopping_ = false;
  std::atomic<int> lists_begun_ = 0, lists_ended_ = 0;  // the numbers of lists, from 1
  std::thread thread_;
};

}  // namespace tephra::node
