// Whatif: continues a recorded history twice from the cut, unchanged and with changes, and compares
// the two runs.
//
// Both engines first process all events and cycles up to the cut, so they start with the state of
// the recorded engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "engine/engine.h"
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
  std::string directory;  // for the output files, in as-is and changed; empty: none
  const std::atomic<bool>* stop = nullptr;  // see SimulateOptions
};

// How well the unchanged run matches the journal after the cut.
struct Reproduced {
  std::int64_t starts = 0, ends = 0;            // of jobs, as recorded
  std::int64_t same_starts = 0, same_ends = 0;  // equal to the millisecond
  DurationMs most_off = 0;                      // the largest difference
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
  DurationMs after_first = 0;  // from the first cycle to the cut
  DurationMs before_last = 0;  // from the cut to the last cycle
  TimeMs cut = 0;              // on the clock of both runs
  TimeMs origin = 0;           // time 0 of that clock, on the clock of the engine
  std::int64_t running = 0, waiting = 0, coming = 0;  // jobs at the cut; jobs recorded after it
  RunTimes runs;
  DurationMs grace = 0;
  // This version decides differently from the journal. The state at the cut is then built from
  // facts only, so reservations made before it are unknown.
  bool decided_otherwise = false;
  Reproduced reproduced;
  WhatifRun as_is, changed;
  bool interrupted = false;
  std::vector<JobDifference> differences;
  std::int64_t elsewhere = 0;
};

absl::StatusOr<WhatifResult> RunWhatif(const WhatifOptions& options);

// For a terminal. Shows at most kMostWhatifLines jobs.
constexpr std::size_t kMostWhatifLines = 20;
void PrintWhatif(const WhatifResult& result, std::ostream& out);
// One JSON object; docs/reference/whatif.md describes it.
std::string WhatifJson(const WhatifResult& result);

}  // namespace tephra
