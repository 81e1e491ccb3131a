#include "plugins/fairshare/fair_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "plugins/fairshare/fair_shares.h"
#include "plugins/framework/gang_ask.h"
#include "plugins/framework/priority.h"

namespace tephra {
namespace {

// Gangs of which only some run, for what those hold serves nobody, but for those behind a higher
// priority of their own queue; then the queues that somebody waits in or under, each with those
// under it by whose turn it is.
class FairLine final : public Line {
 public:
  FairLine(const Ledger& ledger, const std::vector<JobId>& sorted) : snapshot_(ledger.snapshot()) {
    const Snapshot& snapshot = snapshot_;
    for (const JobId id : sorted) {
      const JobRow& job = snapshot.job(id);
      std::int64_t& highest = QueueAt(job.queue).highest;
      if (!InPart(id)) highest = std::max(highest, PriorityOf(snapshot, job));
    }
    for (const JobId id : sorted) {
      (GoesAhead(id) ? in_part_ : QueueAt(snapshot.job(id).queue).jobs).push_back(id);
    }
    FillLines(sorted);
    if (snapshot.books().usage.on()) RankUsers();
    if (queues_.size() > 1) shares_ = FairShares().Of(snapshot.books()).share;
    for (const JobId id : sorted) {
      if (!Peek(QueueAt(snapshot.job(id).queue)).valid()) continue;
      for (QueueId at = snapshot.job(id).queue; Enter(ledger, at);
           at = snapshot.queues().parent(at)) {
        continue;
      }
    }
    // Whose turn it is in a queue goes by who is next in it, which is known only now.
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
    const Waiting* queue = &top_;
    // A queue's own jobs before those of the queues under it.
    while (!Peek(*queue).valid()) {
      last_ = QueueId(std::get<4>(*queue->turns.begin()));
      queue = &queues_.at(last_.value);
    }
    return Pop(queues_.at(last_.value));
  }

  void Asked(JobId id, bool placed) override {
    Waiting& queue = QueueAt(snapshot_.job(id).queue);
    if (!placed && !queue.head.valid() && Fifo(snapshot_.job(id).queue)) queue.head = id;
  }

  void Left(QueueId id) override {
    if (std::find(left_.begin(), left_.end(), id) == left_.end()) left_.push_back(id);
  }

  JobId Behind(JobId id) const override { return queues_.at(snapshot_.job(id).queue.value).head; }

 private:
  // Whether the next job would take the queue above its share, minus the priority, part of the
  // share, name, id.
  using Turn = std::tuple<bool, std::int64_t, std::int64_t, std::string, std::uint32_t>;
  struct Waiting {
    std::vector<JobId> jobs;
    std::size_t next = 0;
    // Where lines are kept, those of a fifo queue who stand in it, from the one whose turn it is
    // on. Behind a head of the queue only those are left who have just come: `fresh`, from
    // `next_fresh`.
    WaitingLines::Line::const_iterator at{}, end{};
    bool lined = false;
    std::vector<JobId> fresh;
    std::size_t next_fresh = 0;
    // Priority of the first of whom none runs.
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    JobId head;            // in a fifo queue, the first that was asked and still waits
    std::set<Turn> turns;  // of the queues under it in which somebody still waits
    Turn turn;             // its own, as it stands with its parent
    bool entered = false;
  };

  // Whose turn it is in the queue, of its own jobs; invalid: nobody's.
  JobId Peek(const Waiting& queue) const {
    const bool more = queue.next < queue.jobs.size();
    if (!queue.lined) return more ? queue.jobs[queue.next] : JobId();
    if (queue.head.valid()) {
      if (more) return queue.jobs[queue.next];
      for (std::size_t f = queue.next_fresh; f < queue.fresh.size(); ++f) {
        if (ComesAfter(queue.head, queue.fresh[f])) return queue.fresh[f];
      }
      return JobId();
    }
    if (queue.at == queue.end) return more ? queue.jobs[queue.next] : JobId();
    if (more && FairOrder().Before(snapshot_, queue.jobs[queue.next], queue.at->job)) {
      return queue.jobs[queue.next];
    }
    return queue.at->job;
  }

  // REQUIRES: Peek gives somebody.
  JobId Pop(Waiting& queue) const {
    const JobId id = Peek(queue);
    if (queue.next < queue.jobs.size() && queue.jobs[queue.next] == id) {
      ++queue.next;
    } else if (!queue.head.valid()) {
      ++queue.at;
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

  Waiting& QueueAt(QueueId id) { return id.valid() ? queues_[id.value] : top_; }
  bool Fifo(QueueId id) const { return snapshot_.queues().spec(id).dequeue == Dequeue::kFifo; }

  // In a queue that is first in, first out, all that wait are lined up where one is to be asked:
  // who waits ahead of it keeps it waiting, and if that one is placed, it is the next one's turn.
  void FillLines(const std::vector<JobId>& sorted) {
    if (std::none_of(sorted.begin(), sorted.end(),
                     [&](JobId id) { return Fifo(snapshot_.job(id).queue); })) {
      return;
    }
    const WaitingLines& lines = snapshot_.books().lines;
    for (auto& [id, queue] : queues_) {
      if (!Fifo(QueueId(id))) continue;
      if (lines.on()) TakeLine(lines, QueueId(id), queue);
      queue.jobs.clear();
    }
    for (const JobId id : lines.on() ? lines.loose() : snapshot_.books().waiting) {
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

  // REQUIRES: queue.jobs are those to be asked.
  static void TakeLine(const WaitingLines& lines, QueueId id, Waiting& queue) {
    queue.lined = true;
    if (const WaitingLines::Line* line = lines.Of(id)) {
      queue.at = line->begin();
      queue.end = line->end();
    }
    std::copy_if(queue.jobs.begin(), queue.jobs.end(), std::back_inserter(queue.fresh),
                 [&](JobId job) { return lines.lined(job); });
  }

  // Among jobs of one priority the user goes first who used less in the past, by the largest part
  // of the cluster that it held: dominant resource fairness over time.
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

  // In billionths of a thousandth, so that histories that are as good as equal are equal.
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

  // The next one of the queue or of those under it; invalid: nobody, as far as is known yet.
  JobId NextIn(QueueId id) const {
    const Waiting* queue = &queues_.at(id.value);
    while (true) {
      const JobId own = Peek(*queue);
      if (own.valid() || queue->turns.empty()) return own;
      queue = &queues_.at(std::get<4>(*queue->turns.begin()));
    }
  }

  Turn TurnOf(const Occupancy& occupancy, QueueId id) const {
    const QueueSpec& spec = snapshot_.queues().spec(id);
    if (shares_.empty()) return {false, -std::int64_t{spec.priority}, 0, spec.name, id.value};
    const Resources& holds = occupancy.queue_total(id);
    const Resources& share = shares_[id.index()];
    const JobId next = NextIn(id);
    bool above = false;
    if (next.valid()) {
      const Resources asked = LeastMissing(snapshot_, snapshot_.job(next));
      for (KindSet kinds = asked.NonZero(); kinds != 0; kinds &= kinds - 1) {
        const Kind k = static_cast<Kind>(std::countr_zero(kinds));
        above = above || (share[k] != Share::kNotShared && holds[k] + asked[k] > share[k]);
      }
    }
    return {above, -std::int64_t{spec.priority}, DominantPart(holds, share), spec.name, id.value};
  }

  // Puts the queue with its parent's others; false where it is there, or `id` is the top.
  bool Enter(const Ledger& ledger, QueueId id) {
    if (!id.valid()) return false;
    Waiting& queue = QueueAt(id);
    if (queue.entered) return false;
    queue.entered = true;
    queue.turn = TurnOf(ledger.occupancy(), id);
    QueueAt(snapshot_.queues().parent(id)).turns.insert(queue.turn);
    return true;
  }

  // The queue and those above it hold more or less than before, or have no other job to ask.
  void Weigh(const Ledger& ledger, QueueId from) {
    for (QueueId at = from; at.valid(); at = snapshot_.queues().parent(at)) {
      Waiting& queue = QueueAt(at);
      Waiting& parent = QueueAt(snapshot_.queues().parent(at));
      parent.turns.erase(queue.turn);
      if (!Peek(queue).valid() && queue.turns.empty()) continue;
      queue.turn = TurnOf(ledger.occupancy(), at);
      parent.turns.insert(queue.turn);
    }
  }

  const Snapshot& snapshot_;
  std::vector<Resources> shares_;  // empty while there is but one queue
  std::vector<JobId> in_part_;
  std::size_t next_in_part_ = 0;
  Waiting top_;
  std::map<std::uint32_t, Waiting> queues_;  // by QueueId
  QueueId last_;                             // that of the job that Next gave last
  std::vector<QueueId> left_;                // that others were evicted from since
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

std::unique_ptr<Line> FairOrder::LineUp(const Ledger& ledger,
                                        const std::vector<JobId>& sorted) const {
  return std::make_unique<FairLine>(ledger, sorted);
}

}  // namespace tephra
