// JournalBatches: a journal as a sequence of batches: some events, then a cycle.
//
// Refused events are left out, because they changed nothing. One owner thread.
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/event.h"
#include "sidecar/wire/journal_reader.h"
#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

struct JournalBatch {
  std::vector<Event> events;
  // The cycle after the events. None: the journal ends before it.
  std::optional<TimeMs> tick;
  std::optional<std::string> plan;  // bytes of a tephra.v1.Plan; none: the journal ends before it
};

class JournalBatches {
 public:
  // INVALID_ARGUMENT names the file and the system error.
  static absl::StatusOr<std::unique_ptr<JournalBatches>> Open(const std::string& path);

  // None after the last batch. A truncated journal ends there. Errors are those of JournalReader.
  absl::StatusOr<std::optional<JournalBatch>> Next();

 private:
  explicit JournalBatches(const std::string& path)
      : file_(path, std::ios::binary), reader_(file_, path) {}

  std::ifstream file_;
  JournalReader reader_;
};

}  // namespace tephra
