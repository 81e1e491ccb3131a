#include "engine/lines_walk.h"

#include <algorithm>

namespace tephra {

DurationMs LinesWalk::OpenBelow(LineId line) const {
  const auto closed = closed_.find(line.value);
  return closed == closed_.end() ? WaitingLine::kAnyRun : closed->second;
}

void LinesWalk::Enter(LineId id, const LinePlace* after) {
  const WaitingLine& line = lines_->line(id);
  const DurationMs below = OpenBelow(id);
  const LinePlace* place = after == nullptr ? line.First(below) : line.After(*after, below);
  while (place != nullptr && std::binary_search(alone_->begin(), alone_->end(), place->job)) {
    place = line.After(*place, below);
  }
  if (place == nullptr) return;
  heap_.push_back({place, id});
  std::push_heap(heap_.begin(), heap_.end());
}

void LinesWalk::Add(LineId line) {
  all_.push_back(line);
  Enter(line, nullptr);
}

void LinesWalk::Drop() {
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  checked_ = false;
}

const LinePlace* LinesWalk::Peek() {
  while (!checked_ && !heap_.empty()) {
    const Next next = heap_.front();
    const DurationMs below = OpenBelow(next.line);
    checked_ = below == WaitingLine::kAnyRun || lines_->line(next.line).RunOf(*next.place) < below;
    if (checked_) break;
    Drop();
    Enter(next.line, next.place);
  }
  return heap_.empty() ? nullptr : heap_.front().place;
}

void LinesWalk::Pop() {
  const Next next = heap_.front();
  passed_ = next.place;
  Drop();
  Enter(next.line, next.place);
}

void LinesWalk::Close(LineId line, DurationMs from) {
  const auto [known, fresh] = closed_.try_emplace(line.value, from);
  if (!fresh) known->second = std::min(known->second, from);
  checked_ = false;
}

void LinesWalk::Reopen() {
  if (closed_.empty()) return;
  closed_.clear();
  heap_.clear();
  checked_ = false;
  for (const LineId line : all_) Enter(line, passed_);
}

}  // namespace tephra
