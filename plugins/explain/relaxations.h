// Relaxations: what would have to be different, and by how little, for a job that waits to start
// now. Each is tried with the policies that decide, on a copy of the State that is told so; nothing
// here is guessed.
//
// What is asked is whether the gang starts beside all that runs now if it is asked first. That
// others who wait may take what comes free, and that some may be evicted, is left out.
//
// A pure function, computed when somebody asks and never in a cycle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/framework/engine.h"

namespace tephra {

// One thing that would be different. By whose it is to give; of one number of changes, those first
// that come first here.
enum class Easing : std::uint8_t {
  kAhead,    // it is not behind another job in a queue that is first in, first out
  kLimit,    // a queue may hold more
  kLend,     // less is kept free for a queue with a guarantee
  kMembers,  // the gang starts with fewer
  kAsk,      // each task asks for less
  kReturn,   // nodes that are there, and that it may not use, are open to it
  kNodes,    // there are more nodes
  kLetIn,    // the enqueue gate lets it in
  kTier,     // its tasks may be farther from each other
};
constexpr int kEasings = 9;

struct Change {
  Easing easing = Easing::kAhead;
  std::string queue;  // kAhead, kLimit, kLend
  std::string ahead;  // kAhead: the name of the job
  std::string role;   // kAsk; kMembers where it is the minimum of one of several roles
  std::string group;  // kTier where it is that of one of the gang's groups
  Kind kind = kGpu;   // kLimit, kLend, kAsk
  // kLimit: what the limit is more; kLend: what is kept less; kMembers: the minimum that is met;
  // kAsk: what each task asks for; kReturn, kNodes: how many; kTier: the highest tier, below 0 for
  // none.
  std::int64_t amount = 0;
  // What it is now: the limit, the guarantee, the minimum, what each task asks for, the highest
  // tier; kReturn: all nodes that are shut for the same reason.
  std::int64_t now = 0;
  // kAsk: what is free, where that would be enough but for the pieces it lies in; else 0.
  std::int64_t free = 0;
  Misfit misfit = Misfit::kFits;   // kReturn: kUnschedulable, kRefused or kExcluded
  std::vector<std::string> nodes;  // kReturn: those; kNodes: one that all are like

  bool operator==(const Change&) const = default;
};

struct Relaxation {
  std::vector<Change> changes;  // all of them together
  bool smallest = true;         // proven: with any of them one less it does not start

  bool operator==(const Relaxation&) const = default;
};

struct Relaxations {
  bool fits_now = false;            // nothing has to be different: it starts in its turn
  std::vector<Relaxation> nearest;  // nearest first
  bool ended = false;               // the search budget ended before all was tried
  std::int32_t trials = 0;          // 0: there was nothing to try
};

// Nothing for a job that does not wait for its minimum, that has room set aside, whose members are
// missing, or whose queue is missing, not open or on a cycle. REQUIRES: no Snapshot of the state
// lives. The effort is bounded by search_budget: that many steps of the exact search in all, and a
// fixed number of trials.
Relaxations FindRelaxations(const State& state, const Assembly& assembly, JobId job, TimeMs now);

// The facts that make the changes so, with versions above all others, and those that take them
// back. What has refused a job's tasks before cannot be taken back.
struct WhatIf {
  std::vector<Event> facts, back;
};
WhatIf FactsOf(const Books& books, JobId job, const std::vector<Change>& changes,
               std::uint64_t version);
constexpr std::uint64_t kFirstWhatIf = std::uint64_t{1} << 62;

// "fits if queue research's limit were +8 GPU (48 GPU)".
std::string RelaxationText(const ResourceKinds& kinds, const Relaxation& relaxation);

}  // namespace tephra
