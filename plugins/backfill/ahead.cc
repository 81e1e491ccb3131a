#include "plugins/backfill/ahead.h"

#include <algorithm>

#include "plugins/backfill/profile.h"

namespace tephra {

Ahead::Ahead(Workbench& bench)
    : bench_(bench),
      snapshot_(bench.ledger().snapshot()),
      charges_(bench.ledger()),
      base_(bench.ledger().mark()) {}

// Only as far as it is asked: most cycles have no question, and most questions are about soon.
void Ahead::List(TimeMs until) {
  if (!listed_) {
    listed_ = true;
    const Timeline::Ends& ends = snapshot_.books().timeline.ends();
    for (const TaskId task : snapshot_.books().releasing) later_.insert({Soon(), task});
    for (next_ = ends.begin(); next_ != ends.end() && next_->first <= Soon(); ++next_) {
      later_.insert({Soon(), next_->second});
    }
  }
  const auto list = [&](const End& end) {
    if (snapshot_.hardware().present(NodeOf(end.task))) ends_.push_back(end);
  };
  const auto end = snapshot_.books().timeline.ends().end();
  while (true) {
    const bool runs = next_ != end;
    const End first = runs ? End{next_->first, next_->second} : End{};
    if (!later_.empty() && (!runs || *later_.begin() < first)) {
      if (later_.begin()->at > until) break;
      list(*later_.begin());
      later_.erase(later_.begin());
    } else {
      if (!runs || first.at > until) break;
      ++next_;
      if (!evicted_.contains(first.task)) list(first);
    }
  }
  listed_until_ = std::max(listed_until_, until);
}

void Ahead::Insert(const End& end) {
  if (end.at > listed_until_) return static_cast<void>(later_.insert(end));
  ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), end), end);
}

void Ahead::Rewind() {
  bench_.ledger().RollBackTo(base_);
  marks_.clear();
}

const Placement* Ahead::Planned(TaskId id) const {
  const auto planned = planned_.find(id);
  return planned == planned_.end() ? nullptr : &planned->second;
}

NodeId Ahead::NodeOf(TaskId id) const {
  const Placement* const planned = Planned(id);
  return planned != nullptr ? planned->node : snapshot_.task(id).node;
}

Placement Ahead::PlaceOf(TaskId id) const {
  const Placement* const planned = Planned(id);
  if (planned != nullptr) return *planned;
  return {id, snapshot_.task(id).node, snapshot_.task(id).slices};
}

FreeCounts::Taken Ahead::TakenOf(TaskId id) const {
  const TaskRow& task = snapshot_.task(id);
  const Placement* const planned = Planned(id);
  return TakenBy(snapshot_.hardware(), snapshot_.cls(task.cls), NodeOf(id),
                 planned != nullptr ? planned->slices : task.slices);
}

QueueId Ahead::QueueOf(const TaskRow& task) const {
  return task.job.valid() ? snapshot_.job(task.job).queue : QueueId();
}

Workbench& Ahead::At(TimeMs time) {
  List(time);
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
    Discharge(gone);
  }
  return bench_;
}

void Ahead::Discharge(TaskId gone) {
  const TaskRow& task = snapshot_.task(gone);
  bench_.ledger().Discharge(task.cls, QueueOf(task), PlaceOf(gone));
}

std::size_t Ahead::Pass(std::size_t next, TimeMs time) {
  List(time);
  for (; next < ends_.size() && ends_[next].at <= time; ++next) Discharge(ends_[next].task);
  return next;
}

void Ahead::ShowNodes(const std::set<NodeId>& nodes, TimeMs time) {
  const auto show = [&](const End& end) {
    const bool gone = !marks_.empty() && !(ends_[marks_.size() - 1] < end);
    if (gone == (end.at <= time)) return;
    if (!gone) return Discharge(end.task);
    const TaskRow& task = snapshot_.task(end.task);
    bench_.ledger().Charge(task.cls, QueueOf(task), PlaceOf(end.task));
  };
  for (const NodeId node : nodes) {
    if (!snapshot_.hardware().present(node)) continue;
    for (const TaskId id : snapshot_.books().tasks_on[node.index()]) {
      const TaskRow& task = snapshot_.task(id);
      const bool leaves = task.leaves() || evicted_.contains(id);
      if (leaves || task.expected_end != 0) {
        show({leaves ? Soon() : std::max(task.expected_end, Soon()), id});
      }
    }
    const auto [first, last] = planned_on_.equal_range(node);
    for (auto planned = first; planned != last; ++planned) show(planned->second);
  }
}

bool Ahead::Reaches(std::size_t index, TimeMs before) {
  List(Soon());
  while (index >= ends_.size()) {
    const bool runs = next_ != snapshot_.books().timeline.ends().end();
    TimeMs next = runs ? next_->first : kForever;
    if (!later_.empty()) next = std::min(next, later_.begin()->at);
    if (next >= before) return false;
    List(next);
  }
  return ends_[index].at < before;
}

std::vector<TimeMs> Ahead::Ends(TimeMs from, TimeMs before, std::size_t most) {
  List(std::min(from, before) - 1);
  const auto earlier = [](const End& end, TimeMs at) { return end.at < at; };
  const auto first = std::lower_bound(ends_.begin(), ends_.end(), from, earlier);
  std::vector<TimeMs> times;
  for (auto i = static_cast<std::size_t>(first - ends_.begin());
       times.size() < most && Reaches(i, before); ++i) {
    if (times.empty() || times.back() != ends_[i].at) times.push_back(ends_[i].at);
  }
  return times;
}

FreeCounts Ahead::FreeAt(TimeMs time) {
  List(time);
  const auto later = [](TimeMs at, const End& end) { return at < end.at; };
  const auto last = std::upper_bound(ends_.begin(), ends_.end(), time, later) - ends_.begin();
  if (marks_.size() > static_cast<std::size_t>(last)) At(time);
  FreeCounts free(bench_.ledger());
  for (auto i = static_cast<std::ptrdiff_t>(marks_.size()); i < last; ++i) {
    free.Add(TakenOf(ends_[static_cast<std::size_t>(i)].task), +1);
  }
  return free;
}

TimeMs Ahead::FirstRoom(CountedRoom& room, TimeMs before) {
  for (std::size_t i = 0; Reaches(i, before); ++i) {
    room.Add(TakenOf(ends_[i].task), +1);
    // All that end at one time are listed with the first of these.
    const bool last = i + 1 == ends_.size() || ends_[i + 1].at != ends_[i].at;
    if (last && room.MayFit()) return ends_[i].at;
  }
  return kForever;
}

RoomAhead Ahead::Room() {
  List(kForever);
  RoomAhead room(At(snapshot_.now()).ledger());
  for (const End& end : ends_) room.Runs(end.at, TakenOf(end.task));
  return room;
}

void Ahead::Follow(const Decision& decision) {
  Rewind();
  const JobRow& job = snapshot_.job(decision.job);
  for (const TaskId victim : decision.evictions) {
    std::erase_if(ends_, [&](const End& end) { return end.task == victim; });
    evicted_.insert(victim);
    if (!snapshot_.hardware().present(snapshot_.task(victim).node)) continue;
    Insert({Soon(), victim});
  }
  const TimeMs until = Until(snapshot_.now(), job.estimated_runtime_ms);
  charges_.Charge(decision);
  for (const Placement& placement : decision.placements) {
    if (until == kForever) break;
    const End end{until, placement.task};
    planned_[placement.task] = placement;
    planned_on_.emplace(placement.node, end);
    Insert(end);
  }
  base_ = bench_.ledger().mark();
}

}  // namespace tephra
