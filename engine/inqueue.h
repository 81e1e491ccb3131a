// Inqueue: what jobs that passed the enqueue gate have a claim to, in sum. In Volcano's words what
// queues have allocated and inqueue, without what is elastic.
//
// A job's claim is brought up to date when the job has changed, so that the cost grows with the
// change and not with the number of jobs. One owner thread.
#pragma once

#include <string>
#include <vector>

#include "topology/base/ids.h"
#include "topology/resources.h"

namespace tephra {

struct Books;
struct JobRow;

struct Claim {
  QueueId queue;
  Resources minimum;  // what its gang takes at the least, without tasks that have succeeded
  Resources missing;  // of that, what has neither a place nor reserved room yet

  bool operator==(const Claim&) const = default;
};

// The claim of an admitted job. Members beyond the minimums of roles count as such of the first
// role that has any to spare.
Claim ClaimOf(const Books& books, const JobRow& job);

class Inqueue {
 public:
  // Off: nothing is kept.
  void Switch(bool on, const Books& books);
  bool on() const { return on_; }
  // The job is about to be another one, or its claim is.
  void Touch(JobId id) {
    if (on_ && (touched_.empty() || touched_.back() != id)) touched_.push_back(id);
  }
  // Brings the claims of all that were touched up to date. True where one of them became smaller,
  // so that there may be room for other jobs.
  bool Follow(const Books& books);

  // By QueueId, each without those under it; there may be queues without an entry.
  const std::vector<Resources>& claimed() const { return claimed_; }
  const Resources& missing() const { return missing_; }
  // Empty if all is as worked out from the rows. REQUIRES: nothing was touched since Follow.
  std::string Check(const Books& books) const;

 private:
  void Count(const Claim& claim, int sign);

  bool on_ = false;
  std::vector<JobId> touched_;
  std::vector<Claim> claims_;  // by JobId; empty for a job that is not admitted
  std::vector<Resources> claimed_;
  Resources missing_;
};

}  // namespace tephra
