// Replay: feeds the events of a journal to a new engine and compares each plan with the recorded
// plan, byte for byte.
//
// Memory is bounded by the size of the cluster, not of the journal. One owner thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "sidecar/wire/journal_reader.h"
#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

// The first difference between the replay and the journal.
struct Divergence {
  enum class Kind : std::uint8_t {
    kPlan,   // the plan differs
    kEvent,  // a refused event is accepted now, or an accepted event refused
    kBooks,  // the derived state is inconsistent: `made` describes it
  };
  Kind kind = Kind::kPlan;
  std::uint64_t record = 0;    // in the journal; the header is record 0
  std::uint64_t offset = 0;    // of the first byte of the record
  std::optional<TimeMs> tick;  // the last cycle; none before the first
  int decision = -1;           // kPlan: index of the decision; -1: outside of decisions
  std::string job;             // uid of the job; set with `decision`
  std::string field;
  std::string recorded, made;
};

struct ReplayReport {
  std::uint64_t events = 0;   // number of events applied
  std::uint64_t refused = 0;  // of these events, the refused ones
  std::uint64_t ticks = 0;
  std::uint64_t plans = 0;        // reproduced plans
  std::uint64_t placements = 0;   // in the reproduced plans
  bool closed = false;            // the journal is complete; false: truncated
  std::uint64_t whole_bytes = 0;  // up to the end of the last complete record
  std::uint64_t torn_bytes = 0;   // after that
  std::string written_by;         // version of tephra that wrote the journal
  std::optional<Divergence> divergence;
};

struct ReplayOptions {
  bool check_books = true;  // recompute the derived state after each cycle
};

// Replays until the journal ends or a difference is found. The report covers the replayed part,
// also if the status is an error (errors of JournalReader; DATA_LOSS if the header is incomplete).
// REQUIRES: no event was applied to the engine yet.
absl::Status Replay(JournalReader& journal, Engine& engine, const ReplayOptions& options,
                    ReplayReport& report);

}  // namespace tephra
