// Borrowers: the queues that use the resources that a job's queue is entitled to and lacks.
//
// A queue borrows what it uses above its fair share. The search compares the job's queue, and each
// queue above it, with the queues beside it. A pure function. Computed on request, never in a
// cycle.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/policy.h"
#include "engine/snapshot.h"

namespace tephra {

// Why a part of what a queue uses is not reclaimed for a job. The first that applies.
enum class Stays : std::uint8_t {
  kReclaimable,     // can be reclaimed
  kNoReclaim,       // the action reclaim is disabled
  kOverOwn,         // the job would take its own queue, or a queue above it, above its share
  kNotReclaimable,  // the queue or a queue under it is not reclaimable, or is on a cycle
  kNotPreemptible,  // the job is not preemptible
  kMinRun,          // the minimum run time of the task is not over
  kBudget,          // a disruption budget allows no eviction
  kMoving,          // the task is starting or terminating
  kWithinOwn,       // used in a queue, under that one, that is within its share
};
constexpr int kStays = 9;
// "cannot be reclaimed (the jobs are not preemptible)"; follows an amount.
const char* StaysText(Stays stays);

struct Borrower {
  std::string queue;
  std::int64_t holds = 0, own = 0;  // `holds` is more
  // What its tasks use, by whether it can be reclaimed, in the order of Stays, without zeros. The
  // reclaimable part is at most what the queue uses above its share.
  std::vector<std::pair<Stays, std::int64_t>> parts;

  std::int64_t over() const { return holds - own; }
  std::int64_t reclaimable() const {
    return parts.empty() || parts[0].first != Stays::kReclaimable ? 0 : parts[0].second;
  }
};

struct Shortfall {
  std::string queue;  // of the job, or above it
  Kind kind = kGpu;
  std::int64_t holds = 0, own = 0;           // `own`, the fair share now, is more
  std::int64_t guarantee = 0, deserved = 0;  // 0: not set
  std::int64_t asked = 0;                    // what the job needs to start
  std::vector<Borrower> borrowers;           // at most kMostBorrowers, the largest first
  std::int64_t others = 0, others_over = 0;  // how many more, and what they use above their shares
  static constexpr std::size_t kMostBorrowers = 5;
};

// By level from the job's queue up, then by kind, GPU first. Only kinds of which some queue uses
// more than its share. Empty for a job that has its minimum.
std::vector<Shortfall> FindShortfalls(const Snapshot& snapshot, const Policies& policies,
                                      JobId job);

// "queue research has a share of 8 GPUs (deserved: 16 GPUs) and uses 2 GPUs".
std::string ShortfallText(const ResourceKinds& kinds, const Shortfall& shortfall);
// "queue dev uses 14 GPUs (6 GPUs above its share): 4 GPUs can be reclaimed, 2 GPUs cannot be
// reclaimed ...".
std::string BorrowerText(const ResourceKinds& kinds, Kind kind, const Borrower& borrower);

}  // namespace tephra
