// JournalSegments: the journal of a running engine, a file for each sync, of which the newest few
// are kept. Each begins with a sync and can be replayed by itself.
//
// One owner thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sidecar/wire/journal_writer.h"
#include "topology/base/status.h"

namespace tephra {

struct JournalSettings {
  std::string directory;
  // A segment that has grown to this asks for a new sync. A sync and a plan are never cut, so one
  // may end somewhat above.
  std::uint64_t segment_bytes = std::uint64_t{256} << 20;
  std::int32_t segments = 8;  // kept, the current one included

  bool operator==(const JournalSettings&) const = default;
};

class JournalSegments {
 public:
  explicit JournalSegments(JournalSettings settings) : settings_(std::move(settings)) {}

  // A new file "tephra-<UTC time>.journal"; the oldest ones go. UNAVAILABLE names the file or the
  // directory and says why not.
  absl::StatusOr<std::unique_ptr<JournalWriter>> Begin();

  const JournalSettings& settings() const { return settings_; }
  bool Full(const JournalWriter& segment) const {
    return segment.bytes() >= settings_.segment_bytes;
  }
  // There is room for a whole segment where there was none.
  bool RoomAgain() const;

 private:
  void DropOldest() const;

  JournalSettings settings_;
};

}  // namespace tephra
