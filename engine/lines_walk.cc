#include "engine/lines_walk.h"

#include <algorithm>

namespace tephra {

DurationMs LinesWalk::OpenBelow(LineId line) const {
  const DurationMs below = closed_shapes_ == nullptr
                               ? WaitingLine::kAnyRun
                               : closed_shapes_->OpenBelow(lines_->ShapeOf(line));
  if (closed_.empty()) return below;
  const auto closed = closed_.find(line);
  return closed == closed_.end() ? below : std::min(below, closed->second);
}

void LinesWalk::Enter(LineId id, const LinePlace* after) {
  const WaitingLine& line = lines_->line(id);
  const DurationMs below = OpenBelow(id);
  const LinePlace* place = after == nullptr ? line.First(below) : line.After(*after, below);
  if (place == nullptr) return;
  heap_.push_back({place, id});
  std::push_heap(heap_.begin(), heap_.end());
}

void LinesWalk::Add(LineId line) {
  all_.push_back(line);
  Enter(line, nullptr);
}

void LinesWalk::AddOthers(QueueId queue) {
  if (lines_->Of(queue).size() == all_.size()) return;
  std::sort(all_.begin(), all_.end());
  others_ = &lines_->Of(queue);
  next_other_ = others_->begin();
}

void LinesWalk::OnlyDue() {
  if (others_ == nullptr) return;
  others_ = nullptr;
  const auto other = [&](const Next& next) { return !IsDue(next.line); };
  heap_.erase(std::remove_if(heap_.begin(), heap_.end(), other), heap_.end());
  std::make_heap(heap_.begin(), heap_.end());
}

void LinesWalk::EnterOthers() {
  while (others_ != nullptr && next_other_ != others_->end() &&
         (heap_.empty() || *next_other_->first < *heap_.front().place)) {
    const LineId line = (next_other_++)->line;
    const bool open = lines_->line(line).ShortestRun() < OpenBelow(line);
    if (open && !IsDue(line) && lines_->MayBeReserved(line)) Enter(line, passed_);
  }
}

void LinesWalk::Drop() {
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
}

const LinePlace* LinesWalk::Peek() {
  for (EnterOthers(); !heap_.empty(); EnterOthers()) {
    const Next next = heap_.front();
    const DurationMs below = OpenBelow(next.line);
    const JobId job = next.place->job;
    const bool asked = std::binary_search(alone_->begin(), alone_->end(), job);
    if (!asked && lines_->RunOf(job) < below) return next.place;
    Drop();
    Enter(next.line, next.place);
  }
  return nullptr;
}

void LinesWalk::Passed(const LinePlace& place) {
  if (passed_ == nullptr || *passed_ < place) passed_ = &place;
}

void LinesWalk::Pop() {
  const Next next = heap_.front();
  Passed(*next.place);
  Drop();
  Enter(next.line, next.place);
}

void LinesWalk::Close(LineId line, DurationMs from) {
  const auto [known, fresh] = closed_.try_emplace(line, from);
  if (!fresh) known->second = std::min(known->second, from);
}

void LinesWalk::Reopen() {
  closed_.clear();
  heap_.clear();
  for (const LineId line : all_) Enter(line, passed_);
  if (others_ != nullptr) next_other_ = others_->begin();
}

}  // namespace tephra
