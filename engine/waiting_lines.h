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

#include <absl/container/btree_set.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/rows.h"
#include "engine/task_need.h"
#include "engine/waiting_line.h"
#include "topology/base/stable_rows.h"

namespace tephra {

struct Books;
class Order;

// What a cycle asks: single jobs, and lines from the first job on.
struct Due {
  std::vector<JobId> jobs;
  std::vector<LineId> lines;
  // Jobs of the other lines have no room.
  bool others = false;  // some of these jobs may get a reservation
  bool evicts = false;  // tasks may be evicted for some of these jobs

  bool empty() const { return jobs.empty() && lines.empty() && !others && !evicts; }
};

class WaitingLines {
 public:
  WaitingLines() = default;
  // A copy has no lines until Use, because a place refers to the row of a job.
  WaitingLines(const WaitingLines&) : WaitingLines() {}
  WaitingLines(WaitingLines&&) = default;
  WaitingLines& operator=(WaitingLines&&) = default;

  bool on() const { return on_; }
  bool any() const { return !by_question_.empty(); }  // whether any job stands in a line
  const WaitingLine& line(LineId id) const { return lines_[id.index()].jobs; }
  QueueId QueueOf(LineId id) const { return lines_[id.index()].queue; }
  ShapeId ShapeOf(LineId id) const { return lines_[id.index()].shape; }
  // Of each job of the shape. Without a need: pods have limits.
  const TaskNeed& NeedOf(ShapeId id) const { return needs_[id.index()]; }
  // Of all jobs in lines of the shape.
  DurationMs ShortestRun(ShapeId id) const { return shapes_[id.index()].runs.begin()->first; }
  // Shapes have lower indexes than that.
  std::size_t shapes() const { return shapes_.size(); }
  std::size_t line_slots() const { return lines_.size(); }  // the same of lines
  // By the last answers to its jobs.
  Awaits AwaitsOf(LineId id) const;
  // Whether a job of the line may get a reservation: the last answer was not that it never fits.
  bool MayBeReserved(LineId id) const;
  // The first of all jobs that stand in lines of the queue; invalid: none does.
  JobId FirstOf(QueueId queue) const;
  // A line by its first job.
  struct InTurn {
    const LinePlace* first;
    LineId line;

    bool operator<(const InTurn& other) const { return *first < *other.first; }
  };
  using Lines = absl::btree_set<InTurn>;
  // Lines of the queue, in the order of their first jobs.
  const Lines& Of(QueueId queue) const;
  // Adds all lines, in no order.
  void AddAll(std::vector<LineId>& to) const;
  // Adds the lines that await at least that, in no order; some may come more than once.
  void AddAwaiting(Awaits least, std::vector<LineId>& to) const;
  // Visits the shapes of which a task may fit on a node with so much free, by CPU, memory and GPUs
  // alone, and the shapes with limits for pods, each with one of its lines. `most`: by kind, of
  // several nodes the most that one has.
  template <class Visit>
  void EachShapeWithin(const Resources& most, Visit visit) const {
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
      const auto& runs = shapes_[s].runs;
      if (needs_[s].Within(most) && !runs.empty()) visit(ShapeId(s), runs.begin()->second);
    }
  }
  // Adds the lines of the shape.
  void AddOf(ShapeId shape, std::vector<LineId>& to) const;
  // The line that the job stands in; invalid: none.
  LineId LineOf(JobId job) const {
    return job.index() < places_.size() ? places_[job.index()].line : LineId();
  }
  // REQUIRES of both: it stands in a line.
  const LinePlace& PlaceOf(JobId job) const { return places_[job.index()].entry->first; }
  DurationMs RunOf(JobId job) const { return places_[job.index()].entry->second; }
  const std::vector<JobId>& loose() const { return loose_; }  // in no order

  // The jobs go by this order from now on; null: by none that is known.
  void Use(const Books& books, std::shared_ptr<const Order> order);
  // Something of the job changed, or it is gone.
  void Follow(const Books& books, JobId job);
  // Something changed that concerns many.
  void Rebuild(const Books& books);
  // A cycle asks these lines now.
  void Asks(const std::vector<LineId>& lines);
  // A cycle found without asking that the jobs of the shape await at least that.
  void Await(ShapeId shape, Awaits awaits);
  // What was said of the job holds for all of its line that run at least as long as `from`, and
  // with `every_queue` also for all other lines of its shape that were asked.
  void Tell(JobId job, DurationMs from, bool every_queue, const Standing& said);
  // What was said of another job of its line or shape and holds for the job, too; null: nothing.
  const Standing* AnswerOf(JobId job) const;
  // The answer to the job was no, and awaits that.
  void Await(JobId job, Awaits awaits);
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
    Awaits awaits = Awaits::kRoom;  // the most of its answers since it was asked
    std::uint64_t asked = 0;  // the cycle that asked it last, by cycles_
    std::uint64_t answered = 0;  // the cycle that `said` is of
    Said said;
  };
  struct Shape {
    Question question;
    std::set<std::pair<DurationMs, LineId>> runs;  // the shortest of each line
    std::uint64_t answered = 0;  // the cycle that `said` is of
    Said said;                   // of its lines that this cycle asked
    std::array<std::uint64_t, 3> awaited{};  // by Awaits: the last cycle with such an answer, or 0
    std::array<bool, 3> listed{};            // by Awaits: in reservations_ or any_change_
    std::uint64_t pruned = 0;                // the cycle of the last Prune
  };
  // The lines and shapes that await that, and some that did.
  struct Awaiting {
    absl::btree_set<LineId> lines;
    absl::btree_set<ShapeId> shapes;  // Shape::listed
  };
  Awaiting& AwaitingOf(Awaits awaits) {
    return awaits == Awaits::kAnyChange ? any_change_ : reservations_;
  }
  static constexpr std::uint32_t kNotLoose = 0xffffffffu;
  struct Known {
    LineId line;
    std::uint32_t loose_at = kNotLoose;         // in loose_
    const WaitingLine::Entry* entry = nullptr;  // in the line
  };
  // The first numbers are of the queue, priority and rights, the rest of the shape.
  static constexpr std::size_t kBeforeShape = 3;
  static Question QuestionOf(const Books& books, JobId job);
  static std::size_t SlotOf(QueueId queue) { return queue.valid() ? queue.index() + 1 : 0; }
  static TaskNeed NeedOf(const Books& books, const JobRow& job);
  LineId LineFor(const Books& books, const JobRow& job, Question question);
  ShapeId ShapeFor(const Books& books, const JobRow& job, const Question& question);
  void DropLine(LineId id);
  // Whether what was said of its shape holds for the line.
  bool Shares(const Line& line) const;
  void Prune(ShapeId shape);
  // Changes the jobs of the line, and what is known of its first and its shortest one.
  template <class Change>
  void Alter(LineId line, Change change);
  void Enter(LineId line, const LinePlace& place, DurationMs run, Known& known);
  void Leave(Known& known);

  std::shared_ptr<const Order> order_;
  bool on_ = false;
  std::vector<Known> places_;  // by JobId
  StableRows<Line> lines_;     // by LineId; empty ones are unused
  std::vector<LineId> unused_;
  std::map<Question, LineId> by_question_;
  std::vector<Shape> shapes_;  // by ShapeId; without lines: unused
  std::vector<TaskNeed> needs_;  // by ShapeId
  std::vector<ShapeId> unused_shapes_;
  std::map<Question, ShapeId> by_shape_;
  std::uint64_t cycles_ = 0;  // that asked lines
  std::vector<Lines> by_queue_;  // by SlotOf
  Awaiting reservations_, any_change_;  // Awaits::kReservations and kAnyChange
  std::vector<JobId> loose_;
};

}  // namespace tephra
