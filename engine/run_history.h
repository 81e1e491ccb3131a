// RunHistory: how long the last jobs of each user of a queue ran, from which the run time of
// the next one is predicted. Kept by State from the ends of tasks.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/config.h"
#include "topology/base/ids.h"
#include "topology/base/time.h"

namespace tephra {

class RunHistory {
 public:
  static constexpr std::size_t kKept = 32;  // runs of one user of a queue

  void Ended(QueueId queue, const std::string& user, DurationMs run);
  // 0: nothing is known.
  DurationMs Predict(QueueId queue, const std::string& user, const RunPrediction& how) const;

 private:
  std::map<std::pair<QueueId, std::string>, std::deque<DurationMs>> runs_;  // the last one first
};

}  // namespace tephra
