#include "simulations/failures.h"

#include <algorithm>
#include <cmath>

namespace tephra {

DurationMs Failures::Draw(DurationMs mean) {
  // 53 bits, as in a double. The distributions of the standard library differ between libraries.
  const double u = static_cast<double>(draws_() >> 11) * 0x1.0p-53;
  return std::max<DurationMs>(std::llround(-static_cast<double>(mean) * std::log1p(-u)), 1);
}

void Failures::Follow(const std::string& node, TimeMs now) {
  if (rates_.node_mtbf <= 0 || !followed_.insert(node).second) return;
  changes_.push({now + Draw(rates_.node_mtbf), sequence_++, node, true});
}

std::optional<TimeMs> Failures::Next() const {
  if (changes_.empty()) return std::nullopt;
  return changes_.top().at;
}

Failures::Change Failures::Pop() {
  const Change change = changes_.top();
  changes_.pop();
  down_ += change.fails ? 1 : -1;
  const DurationMs mean = change.fails ? rates_.node_mttr : rates_.node_mtbf;
  changes_.push({change.at + Draw(mean), sequence_++, change.node, !change.fails});
  return change;
}

std::optional<DurationMs> Failures::TaskFailsAfter() {
  if (rates_.task_mtbf <= 0) return std::nullopt;
  return Draw(rates_.task_mtbf);
}

}  // namespace tephra
