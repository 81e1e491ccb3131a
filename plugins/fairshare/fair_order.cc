#include "plugins/fairshare/fair_order.h"

#include "engine/priority.h"
#include "plugins/fairshare/fair_line.h"

namespace tephra {

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

std::unique_ptr<Line> FairOrder::LineUp(const Ledger& ledger, const Due& due) const {
  return MakeFairLine(ledger, due);
}

}  // namespace tephra
