#include "engine/lines_walk.h"

#include <algorithm>

namespace tephra {
namespace {

constexpr std::size_t kFew = 8;  // lines that enter at once

}  // namespace

DurationMs LinesWalk::OpenBelow(LineId line) const {
  const DurationMs below =
      shapes_ == nullptr ? WaitingLine::kAnyRun : shapes_->OpenBelow(lines_->ShapeOf(line));
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
  if (in_turn_) return;
  few_.push_back(line);
  few_.size() > kFew ? EachEnters() : Enter(line, passed_);
}

void LinesWalk::AddAll() {
  others_ = true;
  EachEnters();
}

void LinesWalk::AddEvicting() {
  evicts_ = true;
  EachEnters();
}

void LinesWalk::EachEnters() {
  in_turn_ = true;
  few_.clear();
  heap_.clear();
  next_ = queue_->begin();
}

void LinesWalk::OnlyDue() {
  if (!std::exchange(others_, false) || evicts_) return;
  const auto other = [&](const Next& next) { return !IsDue(next.line); };
  heap_.erase(std::remove_if(heap_.begin(), heap_.end(), other), heap_.end());
  std::make_heap(heap_.begin(), heap_.end());
}

bool LinesWalk::MayEnter(LineId line) const {
  const bool due = IsDue(line);
  if (!due && !others_ && !evicts_) return false;
  const DurationMs below = OpenBelow(line);
  if (below <= 0 || lines_->line(line).ShortestRun() >= below) return false;
  return due || evicts_ || lines_->MayBeReserved(line);
}

void LinesWalk::EnterFirst() {
  if (!in_turn_) return;
  while (next_ != queue_->end() && (heap_.empty() || *next_->first < *heap_.front().place)) {
    const LineId line = (next_++)->line;
    if (MayEnter(line)) Enter(line, passed_);
  }
}

void LinesWalk::Drop() {
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
}

const LinePlace* LinesWalk::Peek() {
  for (EnterFirst(); !heap_.empty(); EnterFirst()) {
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
  if (in_turn_) {
    next_ = queue_->begin();
  } else {
    for (const LineId line : few_) Enter(line, passed_);
  }
}

}  // namespace tephra
