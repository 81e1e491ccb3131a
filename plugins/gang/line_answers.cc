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

template <class Id>
const LineAnswers::Answer* LineAnswers::Find(const std::map<Id, Answer>& answers, Id of,
                                             JobId job) const {
  const auto known = answers.find(of);
  if (known == answers.end()) return nullptr;
  const DurationMs run = WaitingLine::RunOf(snapshot_.job(job).estimated_runtime_ms);
  return run >= known->second.from ? &known->second : nullptr;
}

const LineAnswers::Answer* LineAnswers::For(JobId id) {
  if (std::exchange(rooms_came_, cycle_.proofs().rooms_came) != cycle_.proofs().rooms_came) {
    of_lines_.clear();
    of_shapes_.clear();
  }
  if (of_lines_.empty() || snapshot_.job(id).reservation->at != 0) return nullptr;
  const LineId line = LineOf(id);
  if (!line.valid()) return nullptr;
  if (const Answer* own = Find(of_lines_, line, id)) return own;
  return Find(of_shapes_, snapshot_.books().lines.ShapeOf(line), id);
}

void LineAnswers::Note(JobId id, const Answer& answer, bool every_queue) {
  const LineId line = LineOf(id);
  if (!line.valid()) return;
  const auto known = of_lines_.find(line);
  if (known != of_lines_.end() && known->second.from <= answer.from) return;
  of_lines_[line] = answer;
  if (every_queue) {
    const auto [of_shape, fresh] =
        of_shapes_.try_emplace(snapshot_.books().lines.ShapeOf(line), answer);
    if (!fresh && answer.from < of_shape->second.from) of_shape->second = answer;
  }
  cycle_.CloseLine(id, answer.from, every_queue);
}

}  // namespace tephra
