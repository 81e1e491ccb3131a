#include "plugins/fairshare/fair_line.h"

#include <absl/container/btree_set.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "engine/lines_walk.h"
#include "engine/priority.h"
#include "plugins/fairshare/fair_order.h"
#include "plugins/fairshare/queue_turns.h"
#include "plugins/fairshare/user_order.h"

namespace tephra {
namespace {

// The line of one cycle: incomplete gangs first, then the tree of queues with pending jobs, each
// queue with its child queues in the order of their turns.
class FairLine final : public Line {
 public:
  FairLine(const Ledger& ledger, const Due& due)
      : snapshot_(ledger.snapshot()),
        lines_(snapshot_.books().lines),
        alone_(due.jobs),
        turns_(snapshot_),
        shapes_(lines_),
        pending_of_(snapshot_.queues().size(), kNone) {
    const Snapshot& snapshot = snapshot_;
    const std::vector<JobId>& sorted = due.jobs;
    if (due.others || due.evicts) AddReserved(alone_);
    std::sort(alone_.begin(), alone_.end());
    const auto count_highest = [&](JobId id) {
      const JobRow& job = snapshot.job(id);
      std::int64_t& highest = QueueAt(job.queue).highest;
      highest = std::max(highest, PriorityOf(snapshot, job));
    };
    const bool compared = std::any_of(sorted.begin(), sorted.end(), [&](JobId id) {
      return InPart(id) || Fifo(snapshot.job(id).queue);
    });
    if (compared) {
      for (const JobId id : sorted) {
        if (!InPart(id)) count_highest(id);
      }
      for (const LineId line : due.lines) count_highest(lines_.line(line).First()->job);
      if (due.others || due.evicts) {
        EachLinedQueue([&](QueueId queue) { count_highest(lines_.FirstOf(queue)); });
      }
    }
    for (const JobId id : sorted) {
      (GoesAhead(id) ? in_part_ : QueueAt(snapshot.job(id).queue).jobs).push_back(id);
    }
    FillLines(sorted);
    for (const LineId line : due.lines) {
      shapes_.Add(line, lines_.ShapeOf(line));
      WalkOf(QueueAt(lines_.QueueOf(line))).Add(line);
    }
    if (due.others || due.evicts) TakeOthers(due);
    if (snapshot.books().usage.on()) {
      for (Pending& queue : pending_) SortByUsers(snapshot, queue.id, queue.jobs);
    }
    LineUpQueues(ledger);
  }

  JobId Next(const Ledger& ledger) override {
    if (last_.valid()) Weigh(ledger, last_);
    for (const QueueId queue : left_) Weigh(ledger, queue);
    last_ = QueueId();
    left_.clear();
    if (next_in_part_ < in_part_.size()) {
      const JobId id = in_part_[next_in_part_++];
      last_ = snapshot_.job(id).queue;
      return id;
    }
    while (!top_.turns.empty() && AnyOpen()) {
      Pending* queue = &top_;
      // The jobs of a queue go before the jobs of its child queues.
      while (!Peek(*queue).valid() && !queue->turns.empty()) {
        queue = &QueueAt(QueueId(queue->turns.begin()->queue));
      }
      // The job that gave the queue this turn may have its answer meanwhile.
      if (queue == &top_ || Peek(*queue) == queue->weighed) {
        last_ = queue->id;
        return Pop(*queue);
      }
      Weigh(ledger, queue->id);
    }
    return JobId();
  }

  void Asked(JobId id, bool placed) override {
    Pending& queue = QueueAt(snapshot_.job(id).queue);
    if (!placed && !queue.head.valid() && Fifo(snapshot_.job(id).queue)) queue.head = id;
  }

  void Reserved(JobId id) override {
    const Resources asked = turns_.LeastOf(id);
    for (QueueId at = snapshot_.job(id).queue; at.valid(); at = snapshot_.queues().parent(at)) {
      QueueAt(at).reserved.Add(asked);
    }
  }

  void Left(QueueId id) override {
    if (std::find(left_.begin(), left_.end(), id) == left_.end()) left_.push_back(id);
  }

  void Close(LineId line, DurationMs from) override {
    if (auto& walk = QueueAt(lines_.QueueOf(line)).walk) walk->Close(line, from);
  }

  void Close(ShapeId shape, DurationMs from) override {
    shapes_.Close(shape, from, lines_.ShortestRun(shape));
  }

  void Reopen() override {
    shapes_.Reopen();
    for (Pending& queue : pending_) {
      if (queue.walk.has_value()) queue.walk->Reopen();
    }
  }

  void OnlyDue(QueueId id) override {
    if (!others_) return;
    others_ = id.valid();
    if (id.valid()) return LeaveOthers(QueueAt(id));
    for (Pending& queue : pending_) LeaveOthers(queue);
  }

  JobId Behind(JobId id) const override { return At(snapshot_.job(id).queue).head; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Pending {
    QueueId id;
    std::vector<JobId> jobs;
    std::size_t next = 0;
    // The jobs in its lines, from the next one on. Of a FIFO queue only new jobs are left behind a
    // blocked head: `fresh`, from `next_fresh`.
    mutable std::optional<LinesWalk> walk{};
    bool fifo_lined = false;
    std::vector<JobId> fresh;
    std::size_t next_fresh = 0;
    // The highest priority of a job that is not incomplete, if any job is or the queue is FIFO.
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    JobId head;            // in a FIFO queue, the first job that was tried and is still pending
    absl::btree_set<QueueTurn> turns;  // of its child queues with pending jobs
    QueueTurn turn;                // its own turn, as its parent stores it
    JobId weighed;                // the job that it was weighed with: NextIn
    Resources reserved;           // to jobs that start later
    bool entered = false;
  };

  // The next of the queue's own jobs; invalid: none.
  JobId Peek(const Pending& queue) const {
    const JobId single = queue.next < queue.jobs.size() ? queue.jobs[queue.next] : JobId();
    if (queue.fifo_lined && queue.head.valid()) {
      if (single.valid()) return single;
      for (std::size_t f = queue.next_fresh; f < queue.fresh.size(); ++f) {
        if (ComesAfter(queue.head, queue.fresh[f])) return queue.fresh[f];
      }
      return JobId();
    }
    const LinePlace* lined = queue.walk.has_value() ? queue.walk->Peek() : nullptr;
    if (lined == nullptr) return single;
    if (single.valid() && FairOrder().Before(snapshot_, single, lined->job)) return single;
    return lined->job;
  }

  // REQUIRES: Peek returns a job.
  JobId Pop(Pending& queue) {
    const JobId id = Peek(queue);
    if (queue.next < queue.jobs.size() && queue.jobs[queue.next] == id) {
      ++queue.next;
      --singles_;
      if (queue.walk.has_value() && lines_.LineOf(id).valid()) {
        queue.walk->Passed(lines_.PlaceOf(id));
      }
    } else if (!queue.fifo_lined || !queue.head.valid()) {
      queue.walk->Pop();
    } else {
      while (queue.fresh[queue.next_fresh] != id) ++queue.next_fresh;
      ++queue.next_fresh;
    }
    return id;
  }

  // Whether any job may still get a turn.
  bool AnyOpen() const {
    return singles_ > 0 || any_fifo_lined_ || others_ || evicts_ || shapes_.any_open();
  }

  // Queues with jobs in lines that are asked by themselves, not one behind the other.
  template <class Visit>
  void EachLinedQueue(Visit visit) const {
    for (std::size_t q = 0; q < snapshot_.queues().size(); ++q) {
      if (!lines_.Of(QueueId(q)).empty() && !Fifo(QueueId(q))) visit(QueueId(q));
    }
  }

  // Jobs with a reservation stand in lines, and are asked by themselves or not at all.
  void AddReserved(std::vector<JobId>& jobs) const {
    for (const JobId id : snapshot_.books().reserved_starts) {
      if (snapshot_.job(id).reservation->at != 0) jobs.push_back(id);
    }
  }

  void TakeOthers(const Due& due) {
    others_ = due.others;
    evicts_ = due.evicts;
    EachLinedQueue([&](QueueId id) {
      Pending& queue = QueueAt(id);
      if (queue.fifo_lined) return;
      if (due.others) WalkOf(queue).AddAll();
      if (due.evicts) WalkOf(queue).AddEvicting();
    });
  }

  LinesWalk& WalkOf(Pending& queue) {
    if (!queue.walk.has_value()) queue.walk.emplace(lines_, queue.id, &shapes_, alone_);
    return *queue.walk;
  }

  void LeaveOthers(Pending& queue) {
    if (queue.walk.has_value() && !queue.fifo_lined) queue.walk->OnlyDue();
  }

  bool ComesAfter(JobId head, JobId other) const {
    return head != other && FairOrder().Before(snapshot_, head, other);
  }

  bool InPart(JobId id) const {
    const JobRow& job = snapshot_.job(id);
    return job.counted() > 0 && !job.satisfied();
  }

  bool GoesAhead(JobId id) {
    const JobRow& job = snapshot_.job(id);
    return InPart(id) && PriorityOf(snapshot_, job) >= QueueAt(job.queue).highest;
  }

  Pending& QueueAt(QueueId id) {
    if (!id.valid()) return top_;
    std::uint32_t& at = pending_of_[id.index()];
    if (at == kNone) {
      at = static_cast<std::uint32_t>(pending_.size());
      pending_.emplace_back().id = id;
    }
    return pending_[at];
  }
  const Pending& At(QueueId id) const { return pending_[pending_of_[id.index()]]; }
  bool Fifo(QueueId id) const { return snapshot_.queues().spec(id).dequeue == Dequeue::kFifo; }

  // If one job of a FIFO queue gets a turn, all pending jobs of the queue are in the line: a
  // pending job blocks the jobs behind it, and when it is placed the next job gets its turn.
  void FillLines(const std::vector<JobId>& sorted) {
    if (std::none_of(sorted.begin(), sorted.end(),
                     [&](JobId id) { return Fifo(snapshot_.job(id).queue); })) {
      return;
    }
    const bool lined = lines_.on() && !snapshot_.config().report_job_ahead;
    for (Pending& queue : pending_) {
      if (!Fifo(queue.id)) continue;
      if (lined) TakeLines(queue);
      queue.jobs.clear();
    }
    for (const JobId id : lines_.on() ? lines_.loose() : snapshot_.books().waiting) {
      const QueueId queue = snapshot_.job(id).queue;
      const bool known = pending_of_[queue.index()] != kNone;
      if (Fifo(queue) && known && !GoesAhead(id)) QueueAt(queue).jobs.push_back(id);
    }
    for (Pending& queue : pending_) {
      if (!Fifo(queue.id)) continue;
      std::sort(queue.jobs.begin(), queue.jobs.end(),
                [&](JobId a, JobId b) { return FairOrder().Before(snapshot_, a, b); });
    }
  }

  // REQUIRES: queue.jobs are the jobs that get a turn.
  void TakeLines(Pending& queue) {
    static const std::vector<JobId> none;
    queue.fifo_lined = any_fifo_lined_ = true;
    queue.walk.emplace(lines_, queue.id, nullptr, none);
    queue.walk->AddAll();
    std::copy_if(queue.jobs.begin(), queue.jobs.end(), std::back_inserter(queue.fresh),
                 [&](JobId job) { return lines_.LineOf(job).valid(); });
  }

  // The next job of the queue or of the queues under it, as these were weighed.
  JobId NextIn(const Pending& queue) const {
    const JobId own = Peek(queue);
    if (own.valid() || queue.turns.empty()) return own;
    return At(QueueId(queue.turns.begin()->queue)).weighed;
  }

  // Gives turns to all queues with jobs and to the queues above them, from the lowest queues up:
  // the turn of a queue depends on its next job, which may be one of a queue under it.
  void LineUpQueues(const Ledger& ledger) {
    if (pending_.size() > 1) turns_.UseShares();
    const QueueTree& queues = snapshot_.queues();
    std::vector<std::vector<QueueId>> by_depth;
    const auto enter = [&](QueueId queue) {
      std::size_t depth = 0;
      for (QueueId at = queues.parent(queue); at.valid(); at = queues.parent(at)) ++depth;
      if (by_depth.size() <= depth) by_depth.resize(depth + 1);
      by_depth[depth].push_back(queue);
    };
    for (std::size_t p = 0, count = pending_.size(); p < count; ++p) {
      singles_ += pending_[p].jobs.size();
      if (!Peek(pending_[p]).valid()) continue;
      for (QueueId at = pending_[p].id; at.valid(); at = queues.parent(at)) {
        if (std::exchange(QueueAt(at).entered, true)) break;
        enter(at);
      }
    }
    for (; !by_depth.empty(); by_depth.pop_back()) {
      for (const QueueId queue : by_depth.back()) {
        TakeTurn(ledger, queue);
      }
    }
  }

  // REQUIRES: it has a next job, and no turn.
  void TakeTurn(const Ledger& ledger, QueueId id) {
    Pending& queue = QueueAt(id);
    queue.weighed = NextIn(queue);
    queue.turn = turns_.Of(ledger.occupancy(), id, queue.weighed, queue.reserved);
    QueueAt(snapshot_.queues().parent(id)).turns.insert(queue.turn);
  }

  // Updates the turn of a queue that was lined up; without a next job it has none.
  void WeighOne(const Ledger& ledger, Pending& queue) {
    QueueAt(snapshot_.queues().parent(queue.id)).turns.erase(queue.turn);
    if (Peek(queue).valid() || !queue.turns.empty()) {
      TakeTurn(ledger, queue.id);
    } else {
      queue.weighed = JobId();
    }
  }

  // Updates the turns of the queue and the queues above it after a change of usage or of the next
  // job.
  void Weigh(const Ledger& ledger, QueueId from) {
    for (QueueId at = from; at.valid(); at = snapshot_.queues().parent(at)) {
      WeighOne(ledger, QueueAt(at));
    }
  }

  const Snapshot& snapshot_;
  const WaitingLines& lines_;
  std::vector<JobId> alone_;       // the jobs that no line asks, by id
  std::vector<JobId> in_part_;
  std::size_t next_in_part_ = 0;
  QueueTurns turns_;
  DueShapes shapes_;
  bool others_ = false;            // jobs of lines that are not due may get a reservation
  bool evicts_ = false;            // tasks may be evicted for these
  std::size_t singles_ = 0;  // jobs of queues that are in no line and have not had their turn
  bool any_fifo_lined_ = false;
  Pending top_;
  std::deque<Pending> pending_;            // of the queues that take part
  std::vector<std::uint32_t> pending_of_;  // by QueueId: in pending_, or kNone
  QueueId last_;                           // of the job that Next returned last
  std::vector<QueueId> left_;              // queues with evictions since then
};

}  // namespace

std::unique_ptr<Line> MakeFairLine(const Ledger& ledger, const Due& due) {
  return std::make_unique<FairLine>(ledger, due);
}

}  // namespace tephra
