// LinesWalk: the jobs of several lines of one queue, in the order of their turns. Lines can be closed
// on the way: their other jobs would get the answer that one of them got. The lines of the queue that
// are not due may take part, too. They enter the walk when their turn comes, so they cost nothing
// before.
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

// From which run time on the due lines of each shape have their answer, in all queues.
class ClosedShapes {
 public:
  // `shapes`: WaitingLines::shapes().
  explicit ClosedShapes(std::size_t shapes) : of_(shapes) {}

  // A line of the shape is due.
  void Count(ShapeId shape) {
    if (!std::exchange(of_[shape.index()].due, true)) ++due_, ++open_;
  }
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
  std::vector<One> of_;  // by ShapeId
  std::size_t due_ = 0, open_ = 0;
};

class LinesWalk {
 public:
  // The arguments outlive the walk; `lines` does not change. `closed`: null: none is. `alone`: jobs
  // that are asked outside of the walk, sorted by id.
  LinesWalk(const WaitingLines& lines, const ClosedShapes* closed, const std::vector<JobId>& alone)
      : lines_(&lines), closed_shapes_(closed), alone_(&alone) {}

  // The line takes part from its first job on.
  void Add(LineId line);
  // So do the other lines of the queue, until OnlyDue. REQUIRES: no line is added afterwards.
  void AddOthers(QueueId queue);
  // The other lines take part no longer.
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
  // Jobs of the line that run less than that are not answered yet.
  DurationMs OpenBelow(LineId line) const;
  bool IsDue(LineId line) const { return std::binary_search(all_.begin(), all_.end(), line); }
  void Enter(LineId line, const LinePlace* after);
  // Other lines of which the first job comes before all jobs of the heap.
  void EnterOthers();
  void Drop();

  const WaitingLines* lines_;
  const ClosedShapes* closed_shapes_;
  const std::vector<JobId>* alone_;
  absl::InlinedVector<LineId, 4> all_;  // that are due; sorted by id if there are others
  const WaitingLines::Lines* others_ = nullptr;  // all lines of the queue; null: no other takes part
  WaitingLines::Lines::const_iterator next_other_;
  absl::InlinedVector<Next, 4> heap_;
  std::unordered_map<LineId, DurationMs> closed_;  // from which run time on
  const LinePlace* passed_ = nullptr;
};

}  // namespace tephra
