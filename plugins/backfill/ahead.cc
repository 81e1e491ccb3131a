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
  const auto add = [&](TaskId id, TimeMs at) {
    const TaskRow& task = snapshot_.task(id);
    if (!snapshot_.hardware().present(task.node)) return;
    ends_.push_back({std::max(at, snapshot_.now() + 1), {id, task.node, task.slices}});
  };
  for (const TaskId task : books.releasing) add(task, 0);
  for (const auto& [at, task] : books.timeline.ends()) add(task, at);
  std::sort(ends_.begin(), ends_.end());
}

void Ahead::Rewind() {
  bench_.ledger().RollBackTo(base_);
  marks_.clear();
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
    const Placement& gone = ends_[marks_.size()].placement;
    marks_.push_back(ledger.mark());
    const TaskRow& task = snapshot_.task(gone.task);
    const QueueId queue = task.job.valid() ? snapshot_.job(task.job).queue : QueueId();
    ledger.Discharge(task.cls, queue, gone);
  }
  return bench_;
}

TimeMs Ahead::NextEnd(TimeMs time) {
  List();
  const auto next = std::upper_bound(ends_.begin(), ends_.end(), time,
                                     [](TimeMs t, const End& end) { return t < end.at; });
  return next == ends_.end() ? kForever : next->at;
}

void Ahead::Follow(const Decision& decision) {
  List();
  Rewind();
  const JobRow& job = snapshot_.job(decision.job);
  for (const TaskId victim : decision.evictions) {
    std::erase_if(ends_, [&](const End& end) { return end.placement.task == victim; });
    const TaskRow& task = snapshot_.task(victim);
    if (!snapshot_.hardware().present(task.node)) continue;
    const End gone{snapshot_.now() + 1, {victim, task.node, task.slices}};
    ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), gone), gone);
  }
  const TimeMs until = Until(snapshot_.now(), job.estimated_runtime_ms);
  charges_.Charge(decision);
  for (const Placement& placement : decision.placements) {
    if (until == kForever) break;
    const End end{until, placement};
    ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), end), end);
  }
  base_ = bench_.ledger().mark();
}

}  // namespace tephra
