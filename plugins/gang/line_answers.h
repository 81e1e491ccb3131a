// LineAnswers: the answers to jobs of lines in one cycle. Jobs of the same line that run at least as
// long would get the same answer, and are not asked. Nor are jobs of other queues, if room alone is
// missing.
//
// This rests on what holds within a cycle: decisions take room and quota, and give none back before
// the next cycle; a gang that runs longer delays each reservation that a shorter one delays.
#pragma once

#include <map>
#include <optional>

#include "engine/cycle.h"

namespace tephra {

class LineAnswers {
 public:
  explicit LineAnswers(Cycle& cycle);

  struct Answer {
    DurationMs from = 0;  // WaitingLine::RunOf
    Verdict verdict = Verdict::kWait;
    Boxed<Reason> reason;
  };
  // The answer that holds for the job, too; null: it has to be asked.
  const Answer* For(JobId id);
  // The answer holds for the job and for all of its line that run at least as long as `from`, and
  // with `every_queue` for all of its shape.
  void Note(JobId id, const Answer& answer, bool every_queue);

 private:
  template <class Id>
  const Answer* Find(const std::map<Id, Answer>& answers, Id of, JobId job) const;
  LineId LineOf(JobId id) const;

  Cycle& cycle_;
  const Snapshot& snapshot_;
  bool each_ = false;  // each job has to be asked
  std::uint64_t rooms_came_ = 0;
  std::map<LineId, Answer> of_lines_;
  std::map<ShapeId, Answer> of_shapes_;
};

}  // namespace tephra
