// Whatif: a recorded history that goes on twice from one instant, as it is and with changes, and
// what differs.
//
// Both runs are told what the recorded engine was told up to the cut, cycles and all, so that they
// begin with all that it knew.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "plugins/framework/engine.h"
#include "simulations/simulate.h"
#include "simulations/whatif/changes.h"
#include "simulations/whatif/continuation.h"
#include "simulations/whatif/outcomes.h"
#include "topology/base/status.h"

namespace tephra {

struct WhatifOptions {
  std::string path;  // a journal
  Cut cut;
  ContinueOptions go_on;
  std::vector<ChangeText> changes;
  std::string directory;  // for the files of both runs, in as-is and changed; empty: none
  const std::atomic<bool>* stop = nullptr;  // as of SimulateOptions
};

// How near the run as it is comes to what was recorded after the cut.
struct Reproduced {
  std::int64_t starts = 0, ends = 0;            // recorded of jobs
  std::int64_t same_starts = 0, same_ends = 0;  // to the millisecond
  DurationMs most_off = 0;                      // the largest difference of either
};

struct WhatifRun {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Outcomes> jobs;
  RunTotals totals;
  Summary summary;
};

struct WhatifResult {
  std::string file;
  std::vector<std::string> changes;
  DurationMs after_first = 0;                         // the cut, after the journal's first cycle
  DurationMs before_last = 0;                         // and before its last
  TimeMs cut = 0;                                     // on the clock of both runs
  TimeMs origin = 0;                                  // time 0 of that clock, on the engine's
  std::int64_t running = 0, waiting = 0, coming = 0;  // jobs at the cut, and after it as recorded
  RunTimes runs;
  DurationMs grace = 0;
  // The cycles of the journal were decided otherwise than this version decides: what stands at the
  // cut is then told without them, so that promises and rooms set aside are not known.
  bool decided_otherwise = false;
  Reproduced reproduced;
  WhatifRun as_is, changed;
  bool interrupted = false;
  std::vector<JobDifference> differences;
  std::int64_t elsewhere = 0;
};

absl::StatusOr<WhatifResult> RunWhatif(const WhatifOptions& options);

// For a terminal: at most so many jobs.
constexpr std::size_t kMostWhatifLines = 20;
void PrintWhatif(const WhatifResult& result, std::ostream& out);
// One JSON object; docs/whatif.md describes it.
std::string WhatifJson(const WhatifResult& result);

}  // namespace tephra
