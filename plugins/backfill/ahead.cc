#include "plugins/backfill/ahead.h"

#include <algorithm>

#include "plugins/backfill/profile.h"

namespace tephra {

Ahead::Ahead(Workbench& bench)
    : bench_(bench),
      snapshot_(bench.ledger().snapshot()),
      charges_(bench.ledger()),
      base_(bench.ledger().mark()) {}

// Only with the first question: most cycles have none.
void Ahead::List() {
  if (listed_) return;
  listed_ = true;
  const Books& books = snapshot_.books();
  const TimeMs soon = snapshot_.now() + 1;
  ends_.reserve(books.releasing.size() + books.timeline.ends().size());
  const auto add = [&](TaskId id, TimeMs at) {
    if (snapshot_.hardware().present(snapshot_.task(id).node)) ends_.push_back({at, id});
  };
  for (const TaskId task : books.releasing) add(task, soon);
  const auto later = books.timeline.ends().upper_bound({soon, TaskId()});
  for (auto end = books.timeline.ends().begin(); end != later; ++end) add(end->second, soon);
  std::sort(ends_.begin(), ends_.end());
  for (auto end = later; end != books.timeline.ends().end(); ++end) add(end->second, end->first);
}

void Ahead::Rewind() {
  bench_.ledger().RollBackTo(base_);
  marks_.clear();
}

Placement Ahead::PlaceOf(TaskId id) const {
  const auto planned = planned_.find(id);
  if (planned != planned_.end()) return planned->second;
  return {id, snapshot_.task(id).node, snapshot_.task(id).slices};
}

Workbench& Ahead::At(TimeMs time) {
  List();
  Ledger& ledger = bench_.ledger();
  std::size_t back = marks_.size();
  while (back > 0 && ends_[back - 1].at > time) --back;
  if (back < marks_.size()) {
    ledger.RollBackTo(marks_[back]);
    marks_.resize(back);
  }
  while (marks_.size() < ends_.size() && ends_[marks_.size()].at <= time) {
    const TaskId gone = ends_[marks_.size()].task;
    marks_.push_back(ledger.mark());
    const TaskRow& task = snapshot_.task(gone);
    const QueueId queue = task.job.valid() ? snapshot_.job(task.job).queue : QueueId();
    ledger.Discharge(task.cls, queue, PlaceOf(gone));
  }
  return bench_;
}

std::vector<TimeMs> Ahead::Ends(TimeMs before) {
  List();
  std::vector<TimeMs> times;
  for (const End& end : ends_) {
    if (end.at >= before) break;
    if (times.empty() || times.back() != end.at) times.push_back(end.at);
  }
  return times;
}

RoomAhead Ahead::Room() {
  RoomAhead room(At(snapshot_.now()).ledger());
  for (const End& end : ends_) {
    room.Runs(end.at, snapshot_.cls(snapshot_.task(end.task).cls), PlaceOf(end.task));
  }
  return room;
}

void Ahead::Follow(const Decision& decision) {
  List();
  Rewind();
  const JobRow& job = snapshot_.job(decision.job);
  for (const TaskId victim : decision.evictions) {
    std::erase_if(ends_, [&](const End& end) { return end.task == victim; });
    const TaskRow& task = snapshot_.task(victim);
    if (!snapshot_.hardware().present(task.node)) continue;
    const End gone{snapshot_.now() + 1, victim};
    ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), gone), gone);
  }
  const TimeMs until = Until(snapshot_.now(), job.estimated_runtime_ms);
  charges_.Charge(decision);
  for (const Placement& placement : decision.placements) {
    if (until == kForever) break;
    const End end{until, placement.task};
    planned_[placement.task] = placement;
    ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), end), end);
  }
  base_ = bench_.ledger().mark();
}

}  // namespace tephra
