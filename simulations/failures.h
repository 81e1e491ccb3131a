// Failures: when nodes and tasks fail by chance, and when nodes are back, all from one seed.
//
// Times between failures and times to repair are exponential: with a mean M, -M ln(1 - u) for a
// u that is uniform in [0, 1). A node's next failure is drawn when it comes or is back, a task's
// when it starts. Equal calls in the same order give equal times. One owner thread.
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

// Means; 0: that never happens.
struct FailureRates {
  std::uint64_t seed = 0;
  DurationMs node_mtbf = 0;  // of each node, from when it is there
  DurationMs node_mttr = 0;
  DurationMs task_mtbf = 0;  // of each task, from when it works
};

class Failures {
 public:
  struct Change {
    TimeMs at = 0;
    std::uint64_t sequence = 0;
    std::string node;
    bool fails = true;  // false: it is back
    bool operator>(const Change& other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };

  explicit Failures(const FailureRates& rates) : rates_(rates), draws_(rates.seed) {}

  // The node is there. Nothing happens where it was before.
  void Follow(const std::string& node, TimeMs now);
  // When the next node fails or is back; none: never.
  std::optional<TimeMs> Next() const;
  // Whether a node is to come back.
  bool repairs() const { return down_ > 0; }
  // That change; what follows it is drawn. REQUIRES: Next() is not none.
  Change Pop();
  // After how much work a task that starts now fails; none: never.
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
