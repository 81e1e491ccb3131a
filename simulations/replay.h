// Replay: tells a fresh engine everything that a journal says another one was told, and compares
// each plan with the recorded one, byte for byte.
//
// In memory that the cluster bounds, not the journal. One owner thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plugins/framework/engine.h"
#include "sidecar/wire/journal_reader.h"
#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

// Where what happened now is first not what the journal says.
struct Divergence {
  enum class Kind : std::uint8_t {
    kPlan,   // the engine decided something else
    kEvent,  // it took an event that was refused, or the other way round
    kBooks,  // its books do not add up: `made` says which
  };
  Kind kind = Kind::kPlan;
  std::uint64_t record = 0;    // in the journal; the header is record 0
  std::uint64_t offset = 0;    // of its first byte
  std::optional<TimeMs> tick;  // of the last cycle; none before the first
  int decision = -1;           // kPlan: index, or -1 where it is not in a decision
  std::string job;             // uid; kPlan with a decision
  std::string field;
  std::string recorded, made;
};

struct ReplayReport {
  std::uint64_t events = 0;   // applied
  std::uint64_t refused = 0;  // of those
  std::uint64_t ticks = 0;
  std::uint64_t plans = 0;        // reproduced
  std::uint64_t placements = 0;   // in those
  bool closed = false;            // the journal is whole; if not, it was cut
  std::uint64_t whole_bytes = 0;  // up to its last whole record
  std::uint64_t torn_bytes = 0;   // behind that
  std::string written_by;         // version of tephra
  std::optional<Divergence> divergence;
};

struct ReplayOptions {
  bool check_books = true;  // recompute all books from the facts after each cycle
};

// Replays until the journal ends or something differs. The report is filled as far as it got, also
// when the status is an error (as of JournalReader; DATA_LOSS too where no header is whole).
// REQUIRES: nothing was applied to the engine yet.
absl::Status Replay(JournalReader& journal, Engine& engine, const ReplayOptions& options,
                    ReplayReport& report);

}  // namespace tephra
