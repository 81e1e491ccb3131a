// LinesWalk: the jobs of several lines of one queue, in the order of their turns. Lines can be closed
// on the way: their other jobs would get the answer that one of them got.
//
// A few lines enter the walk at once. If there are more, each enters when its first job has its turn,
// so that a line which was closed before costs next to nothing.
//
// Part of one cycle; one owner thread.
#pragma once

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/waiting_lines.h"

namespace tephra {

// Which lines of all queues are due, and from which run time on the due lines of each shape have
// their answer.
class DueShapes {
 public:
  explicit DueShapes(const WaitingLines& lines)
      : of_(lines.shapes()), due_lines_(lines.line_slots()) {}

  // The line is due.
  void Add(LineId line, ShapeId shape) {
    due_lines_[line.index()] = true;
    if (!std::exchange(of_[shape.index()].due, true)) ++due_, ++open_;
  }
  bool IsDue(LineId line) const { return due_lines_[line.index()]; }
  // Jobs of the shape that run less than that are not answered yet.
  DurationMs OpenBelow(ShapeId shape) const { return of_[shape.index()].below; }
  // `shortest`: as WaitingLines::ShortestRun.
  void Close(ShapeId shape, DurationMs from, DurationMs shortest) {
    One& one = of_[shape.index()];
    if (one.due && shortest < one.below && shortest >= from) --open_;
    one.below = std::min(one.below, from);
  }
  void Reopen() {
    for (One& one : of_) one.below = WaitingLine::kAnyRun;
    open_ = due_;
  }
  // Whether some due line may have a job without an answer.
  bool any_open() const { return open_ > 0; }

 private:
  struct One {
    DurationMs below = WaitingLine::kAnyRun;
    bool due = false;
  };
  std::vector<One> of_;          // by ShapeId
  std::vector<bool> due_lines_;  // by LineId
  std::size_t due_ = 0, open_ = 0;
};

class LinesWalk {
 public:
  // Of a queue. The arguments outlive the walk; `lines` does not change. `shapes`: null: all lines of
  // the queue are due, and no shape is closed. `alone`: jobs that are asked outside of the walk,
  // sorted by id.
  LinesWalk(const WaitingLines& lines, QueueId queue, const DueShapes* shapes,
            const std::vector<JobId>& alone)
      : lines_(&lines), queue_(&lines.Of(queue)), shapes_(shapes), alone_(&alone) {}

  // The line, which is due, takes part from its first job on.
  void Add(LineId line);
  // So do all lines of the queue. Lines that are not due do until OnlyDue.
  void AddAll();
  // So do all lines of the queue, to the end.
  void AddEvicting();
  // Only lines that are due take part from now on, unless AddEvicting was called.
  void OnlyDue();
  // The next job, where it stands; null: there is none.
  const LinePlace* Peek();
  // Passes the job that Peek returned.
  void Pop();
  // A job that stands there had its turn outside of the walk, and so had all jobs before it.
  void Passed(const LinePlace& place);
  // Jobs of the line that run at least as long as `from` have their answer.
  void Close(LineId line, DurationMs from);
  // All lines are open again, behind the last job that was passed.
  void Reopen();

 private:
  struct Next {
    const LinePlace* place;
    LineId line;
    // Of a heap whose top goes first.
    bool operator<(const Next& other) const { return *other.place < *place; }
  };
  bool IsDue(LineId line) const { return shapes_ == nullptr || shapes_->IsDue(line); }
  // Jobs of the line that run less than that are not answered yet.
  DurationMs OpenBelow(LineId line) const;
  bool MayEnter(LineId line) const;
  void Enter(LineId line, const LinePlace* after);
  // The lines of which the first job comes before all jobs of the heap.
  void EnterFirst();
  void EachEnters();
  void Drop();

  const WaitingLines* lines_;
  const WaitingLines::Lines* queue_;
  const DueShapes* shapes_;
  const std::vector<JobId>* alone_;
  absl::InlinedVector<LineId, 8> few_;  // lines that entered at once; empty if each enters in turn
  absl::InlinedVector<Next, 8> heap_;
  bool in_turn_ = false;  // each line of queue_ enters in its turn
  bool others_ = false;   // also lines that are not due
  bool evicts_ = false;   // the same, to the end
  WaitingLines::Lines::const_iterator next_;
  std::unordered_map<LineId, DurationMs> closed_;  // from which run time on
  const LinePlace* passed_ = nullptr;
};

}  // namespace tephra
