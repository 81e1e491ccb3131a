// LinesWalk: the jobs of several lines of one queue, in the order of their turns. A line can be
// closed on the way: its other jobs would get the answer that one of them got.
//
// Part of one cycle; one owner thread.
#pragma once

#include <unordered_map>
#include <vector>

#include "engine/waiting_lines.h"

namespace tephra {

class LinesWalk {
 public:
  // `lines` outlives the walk and does not change. `alone`: jobs that are asked outside of it,
  // sorted by id.
  LinesWalk(const WaitingLines& lines, const std::vector<JobId>& alone)
      : lines_(&lines), alone_(&alone) {}

  // The line takes part from its first job on.
  void Add(LineId line);
  // The next job, where it stands; null: there is none.
  const LinePlace* Peek();
  // Passes the job that Peek returned.
  void Pop();
  // Jobs of the line that run at least as long as `from` have their answer.
  void Close(LineId line, DurationMs from);
  // All lines are open again, behind the job that was passed last.
  void Reopen();

 private:
  struct Next {
    const LinePlace* place;
    LineId line;
    // Of a heap whose top goes first.
    bool operator<(const Next& other) const { return *other.place < *place; }
  };
  // Jobs that run less than that are not answered yet.
  DurationMs OpenBelow(LineId line) const;
  void Enter(LineId line, const LinePlace* after);
  void Drop();

  const WaitingLines* lines_;
  const std::vector<JobId>* alone_;
  std::vector<LineId> all_;
  std::vector<Next> heap_;
  std::unordered_map<std::uint32_t, DurationMs> closed_;  // by LineId: from which run time on
  const LinePlace* passed_ = nullptr;
  bool checked_ = false;  // the top of the heap is the next job
};

}  // namespace tephra
