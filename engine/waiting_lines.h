// WaitingLines: the pending jobs of which nothing runs, in lines, so that a cycle asks the first of a
// line and looks at no job behind it that would get the same answer.
//
// A line has the jobs of one queue that ask the same question: as many tasks of the same classes,
// with the same minimums, locality, priority and rights. They differ in how long they run and in
// their turns. All other pending jobs are loose. Lines have one shape if the same room helps them:
// they differ in their queue, priority and rights.
//
// Lines are kept where the Order gives keys and there is no enqueue gate; else all is empty. Jobs of
// FIFO queues are loose if each reports which job is ahead of it (EngineConfig::report_job_ahead).
// One owner thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/rows.h"
#include "engine/waiting_line.h"

namespace tephra {

struct Books;
class Order;

using LineId = Id<struct LineTag>;
using ShapeId = Id<struct ShapeTag>;

// What a cycle asks: single jobs, and lines from the first job on.
struct Due {
  std::vector<JobId> jobs;
  std::vector<LineId> lines;

  bool empty() const { return jobs.empty() && lines.empty(); }
};

class WaitingLines {
 public:
  bool on() const { return on_; }
  const WaitingLine& line(LineId id) const { return lines_[id.index()].jobs; }
  QueueId QueueOf(LineId id) const { return lines_[id.index()].queue; }
  ShapeId ShapeOf(LineId id) const { return lines_[id.index()].shape; }
  // Of all jobs in lines of the shape.
  DurationMs ShortestRun(ShapeId id) const { return shapes_[id.index()].runs.begin()->first; }
  // Shapes have lower indexes than that.
  std::size_t shapes() const { return shapes_.size(); }
  // By the last answers to its jobs. False: another change than room that the line may use, or of
  // its queue, may help it too.
  bool WaitsForRoomAlone(LineId id) const;
  // The first of all jobs that stand in lines of the queue; invalid: none does.
  JobId FirstOf(QueueId queue) const;
  // Lines of the queue, in no order.
  const std::vector<LineId>& Of(QueueId queue) const;
  // All lines, in no order.
  std::vector<LineId> All() const;
  // The line that the job stands in; invalid: none.
  LineId LineOf(JobId job) const {
    return job.index() < places_.size() ? places_[job.index()].line : LineId();
  }
  // REQUIRES of both: it stands in a line.
  const LinePlace& PlaceOf(JobId job) const { return places_[job.index()].place; }
  DurationMs RunOf(JobId job) const { return places_[job.index()].run; }
  const std::vector<JobId>& loose() const { return loose_; }  // in no order

  // The jobs go by this order from now on; null: by none that is known.
  void Use(const Books& books, std::shared_ptr<const Order> order);
  // Something of the job changed, or it is gone.
  void Follow(const Books& books, JobId job);
  // Something changed that concerns many.
  void Rebuild(const Books& books);
  // A cycle asks these lines now.
  void Asks(const std::vector<LineId>& lines);
  // What was said of the job holds for all of its line that run at least as long as `from`, and
  // with `every_queue` also for all other lines of its shape that were asked.
  void Tell(JobId job, DurationMs from, bool every_queue, const Standing& said);
  // What was said of another job of its line or shape and holds for the job, too; null: nothing.
  const Standing* AnswerOf(JobId job) const;
  // The answer to the job was no, and not because of room alone.
  void WaitsForMore(JobId job);
  // Empty, or what is wrong.
  std::string Check(const Books& books) const;

 private:
  // All that makes two answers differ but for run time and turn, each list with its length ahead.
  using Question = std::vector<std::uint32_t>;
  struct Said {
    Standing standing;  // asked: it holds for jobs that run at least as long as `from`
    DurationMs from = 0;

    const Standing* Of(DurationMs run) const {
      return standing.asked && run >= from ? &standing : nullptr;
    }
  };
  struct Line {
    Question question;
    QueueId queue;
    ShapeId shape;
    WaitingLine jobs;
    std::uint32_t at_in_queue = 0;  // in by_queue_
    bool waits_for_room_alone = true;
    std::uint64_t asked = 0;  // the cycle that asked it last, by cycles_
    std::uint64_t answered = 0;  // the cycle that `said` is of
    Said said;
  };
  struct Shape {
    Question question;
    std::set<std::pair<DurationMs, LineId>> runs;  // the shortest of each line
    std::uint64_t answered = 0;    // the cycle that `said` is of
    std::uint64_t waits_more = 0;  // the last cycle whose answer was not about room alone
    Said said;                     // of its lines that this cycle asked
  };
  static constexpr std::uint32_t kNotLoose = 0xffffffffu;
  struct Known {
    LineId line;
    LinePlace place;                     // in the line
    DurationMs run = 0;                  // the same
    std::uint32_t loose_at = kNotLoose;  // in loose_
  };
  // The first numbers are of the queue, priority and rights, the rest of the shape.
  static constexpr std::size_t kBeforeShape = 3;
  static Question QuestionOf(const Books& books, JobId job);
  static std::size_t SlotOf(QueueId queue) { return queue.valid() ? queue.index() + 1 : 0; }
  LineId LineFor(QueueId queue, Question question);
  ShapeId ShapeFor(const Question& question);
  // Whether what was said of its shape holds for the line.
  bool Shares(const Line& line) const;
  // The shortest run time of the line was `before`.
  void SetRun(LineId line, DurationMs before);
  void Enter(LineId line, LinePlace place, DurationMs run, Known& known);
  void Leave(Known& known);

  std::shared_ptr<const Order> order_;
  bool on_ = false;
  std::vector<Known> places_;  // by JobId
  std::vector<Line> lines_;    // by LineId; empty ones are unused
  std::vector<LineId> unused_;
  std::map<Question, LineId> by_question_;
  std::vector<Shape> shapes_;  // by ShapeId; without lines: unused
  std::vector<ShapeId> unused_shapes_;
  std::map<Question, ShapeId> by_shape_;
  std::uint64_t cycles_ = 0;  // that asked lines
  std::vector<std::vector<LineId>> by_queue_;  // by SlotOf
  std::vector<JobId> loose_;
};

}  // namespace tephra
