// Borrowers: who holds what a job's queue was promised and has not got.
//
// A queue is to have its fair share; what others hold above theirs is lent. Asked of the job's
// queue and of each above it, against those beside it: that is where they meet. A pure function,
// computed when somebody asks and never in a cycle.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plugins/framework/policy.h"
#include "plugins/framework/snapshot.h"

namespace tephra {

// Why a part of what a queue holds is not taken back for a job. The first that is true.
enum class Stays : std::uint8_t {
  kReclaimable,     // it may be
  kNoReclaim,       // the action is disabled
  kOverOwn,         // the job would take its own queue, or one above it, above what is theirs
  kNotReclaimable,  // the queue, or one under it, says so, or its tree is not in order
  kNotPreemptible,  // the job says so
  kMinRun,          // the task has not run long enough
  kBudget,          // a disruption budget allows no more
  kMoving,          // the task is on its way in or out
  kWithinOwn,       // it is in a queue, under that one, that holds no more than its own
};
constexpr int kStays = 9;
// "cannot be reclaimed: the queue says so", to stand behind an amount.
const char* StaysText(Stays stays);

struct Borrower {
  std::string queue;
  std::int64_t holds = 0, own = 0;  // `holds` is more
  // What its tasks hold by whether that may be taken back, in the order of Stays, zeros left out.
  // Of the first no more counts than what the queue holds above its own.
  std::vector<std::pair<Stays, std::int64_t>> parts;

  std::int64_t over() const { return holds - own; }
  std::int64_t reclaimable() const {
    return parts.empty() || parts[0].first != Stays::kReclaimable ? 0 : parts[0].second;
  }
};

struct Shortfall {
  std::string queue;  // the job's, or one above it
  Kind kind = kGpu;
  std::int64_t holds = 0, own = 0;           // `own` is more: its fair share now
  std::int64_t guarantee = 0, deserved = 0;  // what it was promised, 0: nothing
  std::int64_t asked = 0;                    // by the job, to start
  std::vector<Borrower> borrowers;           // at most kMostBorrowers, the largest first
  std::int64_t others = 0, others_over = 0;  // how many more there are, and what they hold above
  static constexpr std::size_t kMostBorrowers = 5;
};

// By level from the job's queue up, then by kind, GPU first; only where somebody holds more than
// its own. Empty for a job that does not wait for its minimum.
std::vector<Shortfall> FindShortfalls(const Snapshot& snapshot, const Policies& policies,
                                      JobId job);

// "queue research is to have 8 GPU (it deserves 16 GPU) and holds 2 GPU".
std::string ShortfallText(const ResourceKinds& kinds, const Shortfall& shortfall);
// "queue dev holds 14 GPU, 6 GPU more than its own: 4 GPU may be reclaimed, 2 GPU may not, ...".
std::string BorrowerText(const ResourceKinds& kinds, Kind kind, const Borrower& borrower);

}  // namespace tephra
