#include "engine/run_history.h"

#include <algorithm>

namespace tephra {

void RunHistory::Ended(QueueId queue, const std::string& user, DurationMs run) {
  std::deque<DurationMs>& runs = runs_[{queue, user}];
  runs.push_front(run);
  if (runs.size() > kKept) runs.pop_back();
}

DurationMs RunHistory::Predict(QueueId queue, const std::string& user,
                               const RunPrediction& how) const {
  const auto found = runs_.find({queue, user});
  if (found == runs_.end() || how.by == RunPrediction::By::kNone) return 0;
  const std::deque<DurationMs>& runs = found->second;
  if (how.by == RunPrediction::By::kLastTwo) {
    return runs.size() < 2 ? runs[0] : (runs[0] + runs[1]) / 2;
  }
  std::vector<DurationMs> sorted(runs.begin(), runs.end());
  const std::size_t rank = (sorted.size() * static_cast<std::size_t>(how.percent) + 99) / 100;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

}  // namespace tephra
