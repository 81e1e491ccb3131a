// SmallestFirst: the queue order of this example. The pending job that needs the fewest GPUs to
// start is tried first.
//
// The order treats all queues as one line and ignores their shares. Jobs of equal size go by
// submission time, then by uid.
#include <tuple>

#include "engine/gang_ask.h"
#include "plugins/registry.h"

namespace {

using tephra::JobId;
using tephra::Ledger;
using tephra::QueueId;
using tephra::Snapshot;

// One cycle's jobs. The engine calls Next() until it returns an invalid id.
class SortedLine final : public tephra::Line {
 public:
  explicit SortedLine(const std::vector<JobId>& sorted) : jobs_(sorted) {}
  JobId Next(const Ledger&) override { return next_ < jobs_.size() ? jobs_[next_++] : JobId(); }
  void Asked(JobId, bool) override {}  // a job that finds no room blocks no other job
  void Left(QueueId) override {}       // an eviction changes nothing in this order
  JobId Behind(JobId) const override { return JobId(); }  // no job has to wait for another one

 private:
  std::vector<JobId> jobs_;
  std::size_t next_ = 0;
};

class SmallestFirst final : public tephra::Order {
 public:
  bool Before(const Snapshot& snapshot, JobId a, JobId b) const override {
    const auto key = [&](JobId id) {
      const tephra::JobRow& job = snapshot.job(id);
      return std::tuple(tephra::LeastMissing(snapshot, job)[tephra::kGpu], job.created, job.uid);
    };
    return key(a) < key(b);
  }
  // `due.jobs` are in the order of Before().
  std::unique_ptr<tephra::Line> LineUp(const Ledger&, const tephra::Due& due) const override {
    return std::make_unique<SortedLine>(due.jobs);
  }
};

const tephra::OrderRegistration kSmallestFirst([] { return std::make_unique<SmallestFirst>(); });

}  // namespace
