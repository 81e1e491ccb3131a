// Failures: the random times at which nodes and tasks fail and nodes are repaired, from one seed.
//
// Times between failures and times to repair are exponential: with a mean M, -M ln(1 - u) for a
// u that is uniform in [0, 1). The next failure of a node is drawn when the node is added or
// repaired, that of a task when the task starts. Equal calls in the same order give equal times.
// One owner thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "topology/base/time.h"

namespace tephra {

// Means; 0: never.
struct FailureRates {
  std::uint64_t seed = 0;
  DurationMs node_mtbf = 0;  // of each node, while it is up
  DurationMs node_mttr = 0;
  DurationMs task_mtbf = 0;  // of each task, while it works
};

class Failures {
 public:
  struct Change {
    TimeMs at = 0;
    std::uint64_t sequence = 0;
    std::string node;
    bool fails = true;  // false: it is repaired
    bool operator>(const Change& other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };

  explicit Failures(const FailureRates& rates) : rates_(rates), draws_(rates.seed) {}

  // The node is up. Has no effect if the node is already known.
  void Follow(const std::string& node, TimeMs now);
  // The time of the next failure or repair of a node; none: never.
  std::optional<TimeMs> Next() const;
  // True if the repair of a node is pending.
  bool repairs() const { return down_ > 0; }
  // Returns that change and draws the next one of that node. REQUIRES: Next() is not none.
  Change Pop();
  // The amount of work after which a task that starts now fails; none: never.
  std::optional<DurationMs> TaskFailsAfter();

 private:
  DurationMs Draw(DurationMs mean);

  FailureRates rates_;
  std::mt19937_64 draws_;
  std::uint64_t sequence_ = 0;
  std::int64_t down_ = 0;
  std::set<std::string> followed_;
  std::priority_queue<Change, std::vector<Change>, std::greater<>> changes_;
};

}  // namespace tephra
