// Relaxations: the smallest changes with which a pending job would start now. Each change is tried
// on a copy of the State with the real policies, so the answer is not a guess.
//
// The question is whether the gang starts beside all running jobs if it goes first. The answer
// ignores that other pending jobs may take free room, and that tasks may be evicted.
//
// A pure function. Computed on request, never in a cycle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace tephra {

// What would change. Relaxations with equally many changes are sorted in this order.
enum class Easing : std::uint8_t {
  kAhead,     // no other job is ahead of it in its FIFO queue
  kLimit,     // a queue has a higher limit
  kLend,      // a queue lends a part of its guarantee
  kMembers,   // the gang starts with fewer members
  kAsk,       // each task requests less
  kReturn,    // existing nodes that the job may not use become usable
  kNodes,     // the cluster has more nodes
  kAdmitted,  // the enqueue gate admits the job
  kTier,      // the tasks may be farther apart
  kDeserved,  // a queue deserves more
  kPreemptible,  // the job is preemptible
};
constexpr int kEasings = 11;

struct Change {
  Easing easing = Easing::kAhead;
  std::string queue;  // kAhead, kLimit, kLend, kDeserved
  std::string ahead;  // kAhead: the name of the job
  std::string role;   // kAsk; kMembers if the change is to the minimum of one of several roles
  std::string group;  // kTier if the change is to one sub-group of the gang
  Kind kind = kGpu;   // kLimit, kLend, kAsk, kDeserved
  // kLimit, kDeserved: added to the limit or the deserved amount; kLend: how much is lent; kMembers: the new minimum; kAsk: the new
  // request of each task; kReturn, kNodes: the number of nodes; kTier: the new highest tier, below
  // 0 for none.
  std::int64_t amount = 0;
  // The current value: limit, deserved amount, guarantee, minimum, request of each task, highest tier. kReturn: the
  // number of all nodes that are unusable for the same reason.
  std::int64_t now = 0;
  // kAsk: the free amount if it would suffice without fragmentation; otherwise 0.
  std::int64_t free = 0;
  Misfit misfit = Misfit::kFits;   // kReturn: kUnschedulable, kRefused or kExcluded
  std::vector<std::string> nodes;  // kReturn: which; kNodes: the one node to copy

  bool operator==(const Change&) const = default;
};

struct Relaxation {
  std::vector<Change> changes;  // all together
  bool smallest = true;         // proven: with any amount one less the job does not start

  bool operator==(const Relaxation&) const = default;
};

struct Relaxations {
  bool fits_now = false;            // no change is needed: the job starts in its turn
  std::vector<Relaxation> nearest;  // nearest first
  bool ended = false;               // the search budget ended before everything was tried
  std::int32_t trials = 0;          // 0: nothing to try
};

// Empty for a job that has its minimum, that has reserved room, whose members are missing, or whose
// queue is missing, closed or on a cycle. The effort is bounded: search_budget steps of the exact
// search in total, and a fixed number of trials. REQUIRES: no Snapshot of the state exists.
Relaxations FindRelaxations(const State& state, const Assembly& assembly, JobId job, TimeMs now);

// The facts that make the changes, with versions above all others, and the facts that undo them.
// Only cleared rejections of a job's tasks by a node cannot be undone.
struct WhatIf {
  std::vector<Event> facts, back;
};
WhatIf FactsOf(const Books& books, JobId job, const std::vector<Change>& changes,
               std::uint64_t version);
constexpr std::uint64_t kFirstWhatIf = std::uint64_t{1} << 62;

// "fits if the limit of queue research is 48 GPUs (now 40 GPUs)".
std::string RelaxationText(const ResourceKinds& kinds, const Relaxation& relaxation);

}  // namespace tephra
