#include "plugins/fairshare/fair_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/gang_ask.h"
#include "engine/lines_walk.h"
#include "engine/priority.h"
#include "plugins/fairshare/fair_shares.h"

namespace tephra {
namespace {

// The line of one cycle: incomplete gangs first, then the tree of queues with pending jobs, each
// queue with its child queues in the order of their turns.
class FairLine final : public Line {
 public:
  FairLine(const Ledger& ledger, const Due& due)
      : snapshot_(ledger.snapshot()), lines_(snapshot_.books().lines), alone_(due.jobs) {
    const Snapshot& snapshot = snapshot_;
    const std::vector<JobId>& sorted = due.jobs;
    std::sort(alone_.begin(), alone_.end());
    const auto count_highest = [&](JobId id) {
      const JobRow& job = snapshot.job(id);
      std::int64_t& highest = QueueAt(job.queue).highest;
      highest = std::max(highest, PriorityOf(snapshot, job));
    };
    for (const JobId id : sorted) {
      if (!InPart(id)) count_highest(id);
    }
    for (const LineId line : due.lines) count_highest(lines_.line(line).First()->job);
    for (const JobId id : sorted) {
      (GoesAhead(id) ? in_part_ : QueueAt(snapshot.job(id).queue).jobs).push_back(id);
    }
    FillLines(sorted);
    for (const LineId line : due.lines) Walk(QueueAt(lines_.QueueOf(line)), alone_).Add(line);
    if (snapshot.books().usage.on()) RankUsers();
    if (queues_.size() > 1) shares_ = FairShares().Of(snapshot.books()).share;
    const auto enter = [&](QueueId queue) {
      if (!Peek(QueueAt(queue)).valid()) return;
      for (QueueId at = queue; Enter(ledger, at); at = snapshot.queues().parent(at)) continue;
    };
    for (const JobId id : sorted) enter(snapshot.job(id).queue);
    for (const LineId line : due.lines) enter(lines_.QueueOf(line));
    // The turn of a queue depends on its next job, which is known only now.
    if (shares_.empty()) return;
    for (const auto& [id, queue] : queues_) {
      if (Peek(queue).valid()) Weigh(ledger, QueueId(id));
    }
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
    if (top_.turns.empty()) return JobId();
    const Pending* queue = &top_;
    // The jobs of a queue go before the jobs of its child queues.
    while (!Peek(*queue).valid()) {
      last_ = QueueId(queue->turns.begin()->queue);
      queue = &queues_.at(last_.value);
    }
    return Pop(queues_.at(last_.value));
  }

  void Asked(JobId id, bool placed) override {
    Pending& queue = QueueAt(snapshot_.job(id).queue);
    if (!placed && !queue.head.valid() && Fifo(snapshot_.job(id).queue)) queue.head = id;
  }

  void Left(QueueId id) override {
    if (std::find(left_.begin(), left_.end(), id) == left_.end()) left_.push_back(id);
  }

  void Close(LineId line, DurationMs from) override {
    if (auto& walk = QueueAt(lines_.QueueOf(line)).walk) walk->Close(line, from);
  }

  void Reopen() override {
    for (auto& [id, queue] : queues_) {
      if (queue.walk.has_value()) queue.walk->Reopen();
    }
  }

  JobId Behind(JobId id) const override { return queues_.at(snapshot_.job(id).queue.value).head; }

 private:
  // The order of queues with one parent.
  struct Turn {
    bool above_share = false;  // with its next job
    std::int64_t minus_priority = 0;
    std::int64_t part = 0;            // of its share, now
    std::int64_t part_with_next = 0;  // and with its next job
    std::string name;
    std::uint32_t queue = 0;

    auto operator<=>(const Turn&) const = default;
  };
  struct Pending {
    std::vector<JobId> jobs;
    std::size_t next = 0;
    // The jobs in its lines, from the next one on. Of a FIFO queue only new jobs are left behind a
    // blocked head: `fresh`, from `next_fresh`.
    mutable std::optional<LinesWalk> walk{};
    bool fifo_lined = false;
    std::vector<JobId> fresh;
    std::size_t next_fresh = 0;
    // The highest priority of a job that is not incomplete.
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    JobId head;            // in a FIFO queue, the first job that was tried and is still pending
    std::set<Turn> turns;  // of its child queues with pending jobs
    Turn turn;             // its own turn, as its parent stores it
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
  JobId Pop(Pending& queue) const {
    const JobId id = Peek(queue);
    if (queue.next < queue.jobs.size() && queue.jobs[queue.next] == id) {
      ++queue.next;
    } else if (!queue.fifo_lined || !queue.head.valid()) {
      queue.walk->Pop();
    } else {
      while (queue.fresh[queue.next_fresh] != id) ++queue.next_fresh;
      ++queue.next_fresh;
    }
    return id;
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

  Pending& QueueAt(QueueId id) { return id.valid() ? queues_[id.value] : top_; }
  bool Fifo(QueueId id) const { return snapshot_.queues().spec(id).dequeue == Dequeue::kFifo; }

  // If one job of a FIFO queue gets a turn, all pending jobs of the queue are in the line: a
  // pending job blocks the jobs behind it, and when it is placed the next job gets its turn.
  void FillLines(const std::vector<JobId>& sorted) {
    if (std::none_of(sorted.begin(), sorted.end(),
                     [&](JobId id) { return Fifo(snapshot_.job(id).queue); })) {
      return;
    }
    const bool lined = lines_.on() && !snapshot_.config().report_job_ahead;
    for (auto& [id, queue] : queues_) {
      if (!Fifo(QueueId(id))) continue;
      if (lined) TakeLines(QueueId(id), queue);
      queue.jobs.clear();
    }
    for (const JobId id : lines_.on() ? lines_.loose() : snapshot_.books().waiting) {
      const QueueId queue = snapshot_.job(id).queue;
      const auto known = queues_.find(queue.value);
      if (Fifo(queue) && known != queues_.end() && !GoesAhead(id)) known->second.jobs.push_back(id);
    }
    for (auto& [id, queue] : queues_) {
      if (!Fifo(QueueId(id))) continue;
      std::sort(queue.jobs.begin(), queue.jobs.end(),
                [&](JobId a, JobId b) { return FairOrder().Before(snapshot_, a, b); });
    }
  }

  // REQUIRES: queue.jobs are the jobs that get a turn.
  void TakeLines(QueueId id, Pending& queue) {
    static const std::vector<JobId> none;
    queue.fifo_lined = true;
    for (const LineId line : lines_.Of(id)) Walk(queue, none).Add(line);
    std::copy_if(queue.jobs.begin(), queue.jobs.end(), std::back_inserter(queue.fresh),
                 [&](JobId job) { return lines_.LineOf(job).valid(); });
  }

  // `alone`: as LinesWalk has it.
  LinesWalk& Walk(Pending& queue, const std::vector<JobId>& alone) const {
    if (!queue.walk.has_value()) queue.walk.emplace(lines_, alone);
    return *queue.walk;
  }

  // Among jobs of equal priority, the job of the user with less past usage goes first, measured by
  // the largest part of the cluster: dominant resource fairness over time.
  void RankUsers() {
    for (auto& [id, queue] : queues_) {
      std::map<std::string, std::int64_t> used;
      for (const JobId job : queue.jobs) used.try_emplace(snapshot_.job(job).user);
      if (used.size() < 2) continue;
      for (auto& [user, part] : used) part = UsedBy(QueueId(id), user);
      const auto turn = [&](JobId job) {
        const JobRow& row = snapshot_.job(job);
        return std::pair(-PriorityOf(snapshot_, row), used.at(row.user));
      };
      std::stable_sort(queue.jobs.begin(), queue.jobs.end(),
                       [&](JobId a, JobId b) { return turn(a) < turn(b); });
    }
  }

  // In steps of 1e-12, so that almost equal histories are equal.
  std::int64_t UsedBy(QueueId queue, const std::string& user) const {
    const Usage& usage = snapshot_.books().usage;
    const Spent spent = usage.Of(queue, user);
    const Resources& total = snapshot_.hardware().total();
    double most = 0;
    for (Kind k = 0; k < kMaxKinds; ++k) {
      if (total[k] <= 0) continue;
      most = std::max(most, spent[k] / (static_cast<double>(total[k]) * usage.endless_ms()));
    }
    return std::llround(std::min(most * 1e12, 1e18));
  }

  // The next job of the queue or of the queues under it; invalid: none so far.
  JobId NextIn(QueueId id) const {
    const Pending* queue = &queues_.at(id.value);
    while (true) {
      const JobId own = Peek(*queue);
      if (own.valid() || queue->turns.empty()) return own;
      queue = &queues_.at(queue->turns.begin()->queue);
    }
  }

  Turn TurnOf(const Occupancy& occupancy, QueueId id) const {
    const QueueSpec& spec = snapshot_.queues().spec(id);
    Turn turn;
    turn.minus_priority = -std::int64_t{spec.priority};
    turn.name = spec.name;
    turn.queue = id.value;
    if (shares_.empty()) return turn;
    Resources holds = occupancy.queue_total(id);
    const Resources& share = shares_[id.index()];
    turn.part = turn.part_with_next = DominantPart(holds, share);
    const JobId next = NextIn(id);
    if (!next.valid()) return turn;
    const Resources asked = LeastMissing(snapshot_, snapshot_.job(next));
    holds.Add(asked);
    for (KindSet kinds = asked.NonZero(); kinds != 0; kinds &= kinds - 1) {
      const Kind k = static_cast<Kind>(std::countr_zero(kinds));
      const bool above = share[k] != Share::kNotShared && holds[k] > share[k];
      turn.above_share = turn.above_share || above;
    }
    turn.part_with_next = DominantPart(holds, share);
    return turn;
  }

  // Adds the queue to the turns of its parent. False if it is there already, or `id` is invalid.
  bool Enter(const Ledger& ledger, QueueId id) {
    if (!id.valid()) return false;
    Pending& queue = QueueAt(id);
    if (queue.entered) return false;
    queue.entered = true;
    queue.turn = TurnOf(ledger.occupancy(), id);
    QueueAt(snapshot_.queues().parent(id)).turns.insert(queue.turn);
    return true;
  }

  // Updates the turns of the queue and the queues above it after a change of usage or of the next
  // job.
  void Weigh(const Ledger& ledger, QueueId from) {
    for (QueueId at = from; at.valid(); at = snapshot_.queues().parent(at)) {
      Pending& queue = QueueAt(at);
      Pending& parent = QueueAt(snapshot_.queues().parent(at));
      parent.turns.erase(queue.turn);
      if (!Peek(queue).valid() && queue.turns.empty()) continue;
      queue.turn = TurnOf(ledger.occupancy(), at);
      parent.turns.insert(queue.turn);
    }
  }

  const Snapshot& snapshot_;
  const WaitingLines& lines_;
  std::vector<JobId> alone_;       // the single jobs that are due, by id
  std::vector<Resources> shares_;  // empty if there is only one queue
  std::vector<JobId> in_part_;
  std::size_t next_in_part_ = 0;
  Pending top_;
  std::map<std::uint32_t, Pending> queues_;  // by QueueId
  QueueId last_;                             // of the job that Next returned last
  std::vector<QueueId> left_;                // queues with evictions since then
};

}  // namespace

bool FairOrder::Before(const Snapshot& snapshot, JobId a, JobId b) const {
  const JobRow& x = snapshot.job(a);
  const JobRow& y = snapshot.job(b);
  const std::int64_t p = PriorityOf(snapshot, x), q = PriorityOf(snapshot, y);
  if (p != q) return p > q;
  const std::int64_t left = LeftOf(snapshot, x), other_left = LeftOf(snapshot, y);
  if (left != other_left) return left < other_left;
  if (x.created != y.created) return x.created < y.created;
  return x.uid < y.uid;
}

// Nothing of the job runs, so that the time does not matter.
OrderKey FairOrder::KeyOf(const Books& books, const JobRow& job) const {
  return {-std::int64_t{job.priority}, LeftOf(books, 0, job)};
}

std::unique_ptr<Line> FairOrder::LineUp(const Ledger& ledger,
                                        const Due& due) const {
  return std::make_unique<FairLine>(ledger, due);
}

}  // namespace tephra
