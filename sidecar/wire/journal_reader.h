// JournalReader: what a journal holds, record by record, in memory that does not grow with it.
//
// One owner thread.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <variant>

#include "engine/event.h"
#include "sidecar/wire/frame.h"
#include "topology/base/status.h"

namespace tephra {

// The event before it was refused.
struct JournalRefusal {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string message;
};
// A cycle began; its plan follows, unless the journal ends here.
struct JournalTick {
  TimeMs now = 0;
};
struct JournalPlan {
  std::string bytes;  // of a tephra.v1.Plan
};

using JournalEntry = std::variant<Event, JournalRefusal, JournalTick, JournalPlan>;

class JournalReader {
 public:
  // The stream must outlive the reader; `name` is what errors call it.
  JournalReader(std::istream& in, std::string name) : frames_(in, std::move(name)) {}

  // The next entry, or none after the last whole one: then closed() and the rest say how it ended.
  //
  // All errors name the record, the header being record 0, and its first byte. DATA_LOSS: damaged
  // bytes, or no journal at all. UNIMPLEMENTED: a later version of the format. INVALID_ARGUMENT:
  // an event that this version cannot read, with the field. UNAVAILABLE: the file cannot be read.
  absl::StatusOr<std::optional<JournalEntry>> Next();

  // --- where Next() stands: the entry that it gave last, or the end
  std::uint64_t record() const { return frames_.record(); }
  std::uint64_t offset() const { return frames_.offset(); }
  std::string Where() const { return frames_.Where(); }

  // --- how it ended
  // The writer closed it. If not, it was cut there, or the writer was stopped.
  bool closed() const { return stage_ == Stage::kClosed; }
  bool has_header() const { return stage_ != Stage::kHeader; }
  std::uint64_t torn_bytes() const { return frames_.torn_bytes(); }

  const std::string& tool_version() const { return tool_version_; }

 private:
  // What was read last, which says what may follow.
  enum class Stage { kHeader, kIdle, kEvent, kTick, kClosed };

  absl::Status ReadHeader();
  absl::Status Wrong(absl::StatusCode code, const std::string& what) const;

  FrameReader frames_;
  Stage stage_ = Stage::kHeader;
  std::string tool_version_;
};

}  // namespace tephra
