// Publisher: writes what this node says of itself to the cluster whenever it has changed, and
// events, from a thread of its own, until it is written.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "plugins/node/cluster/events.h"
#include "plugins/node/cluster/node_writer.h"

namespace tephra::node {

class Publisher {
 public:
  Publisher(ApiSettings api, std::string node);
  ~Publisher();

  // Any thread. What was to be written before and is not yet is forgotten. `again`: even if it was
  // written already.
  void Show(NodeFacts facts, bool again = false);
  // Any thread. Those beyond what EventBudget allows are only logged.
  void Report(ClusterEvent event);
  // Why the last try did not succeed; empty: all is written.
  std::string fault() const;

 private:
  void Run();
  absl::Status Post(const ClusterEvent& event);

  const std::string node_;
  ApiClient client_;
  NodeWriter writer_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<NodeFacts> wanted_;  // not written yet
  bool again_ = false;
  std::deque<ClusterEvent> events_;  // not sent yet
  EventBudget budget_;
  std::string fault_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tephra::node
