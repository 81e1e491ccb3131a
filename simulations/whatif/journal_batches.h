// JournalBatches: a journal as the engine lived through it: what it was told, then a cycle.
//
// Events that the engine refused are left out: they changed nothing. One owner thread.
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/framework/event.h"
#include "sidecar/wire/journal_reader.h"
#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

struct JournalBatch {
  std::vector<Event> events;
  // The cycle that followed them. None: the journal ends before that.
  std::optional<TimeMs> tick;
  std::optional<std::string> plan;  // bytes of a tephra.v1.Plan; none: the journal ends before it
};

class JournalBatches {
 public:
  // INVALID_ARGUMENT names the file and what the system says.
  static absl::StatusOr<std::unique_ptr<JournalBatches>> Open(const std::string& path);

  // None after the last. A journal that was cut ends where it was; else errors as of JournalReader.
  absl::StatusOr<std::optional<JournalBatch>> Next();

 private:
  explicit JournalBatches(const std::string& path)
      : file_(path, std::ios::binary), reader_(file_, path) {}

  std::ifstream file_;
  JournalReader reader_;
};

}  // namespace tephra
