#include "plugins/gang/line_answers.h"

#include <utility>

namespace tephra {

// Moves are looked for on behalf of each job that waits for room, as long as there are any.
LineAnswers::LineAnswers(Cycle& cycle)
    : cycle_(cycle),
      snapshot_(cycle.snapshot()),
      each_(snapshot_.books().movable_jobs > 0 &&
            snapshot_.config().moves.mode != MoveSettings::Mode::kOff) {}

// Invalid also in a FIFO queue, where a job that waits keeps those behind it from being asked.
LineId LineAnswers::LineOf(JobId id) const {
  if (each_ || snapshot_.queues().InOrder(snapshot_.job(id).queue)) return LineId();
  return snapshot_.books().lines.LineOf(id);
}

const LineAnswers::Answer* LineAnswers::For(JobId id) {
  if (std::exchange(rooms_came_, cycle_.proofs().rooms_came) != cycle_.proofs().rooms_came) {
    answers_.clear();
  }
  if (answers_.empty() || snapshot_.job(id).reservation.at != 0) return nullptr;
  const auto known = answers_.find(LineOf(id));
  if (known == answers_.end()) return nullptr;
  const DurationMs run = WaitingLine::RunOf(snapshot_.job(id).estimated_runtime_ms);
  return run >= known->second.from ? &known->second : nullptr;
}

void LineAnswers::Note(JobId id, DurationMs from, Verdict verdict, const Boxed<Reason>& reason) {
  const LineId line = LineOf(id);
  if (!line.valid()) return;
  const auto known = answers_.find(line);
  if (known != answers_.end() && known->second.from <= from) return;
  answers_[line] = {from, verdict, reason};
  cycle_.CloseLine(id, from);
}

}  // namespace tephra
