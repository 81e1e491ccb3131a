#include "sidecar/wire/journal_reader.h"

#include <utility>

#include "sidecar/wire/event_codec.h"
#include "sidecar/wire/journal_format.h"
#include "tephra/v1/journal.pb.h"

namespace tephra {

absl::Status JournalReader::Wrong(absl::StatusCode code, const std::string& what) const {
  return absl::Status(code, frames_.Where() + ": " + what);
}

// OK also where the file ends before the header does.
absl::Status JournalReader::ReadHeader() {
  const absl::StatusOr<const std::string*> content = frames_.Next();
  if (absl::IsDataLoss(content.status())) {
    return absl::DataLossError(std::string(content.status().message()) +
                               "; or this is not a journal");
  }
  if (!content.ok()) return content.status();
  if (*content == nullptr) return absl::OkStatus();
  v1::JournalRecord record;
  if (!record.ParseFromString(**content) || record.header().format() != kJournalFormat) {
    return Wrong(absl::StatusCode::kDataLoss, "not the header of a journal");
  }
  const std::uint32_t version = record.header().format_version();
  if (version != kJournalVersion) {
    return Wrong(absl::StatusCode::kUnimplemented,
                 "format_version: " + std::to_string(version) + ", written by tephra " +
                     record.header().tool_version() + "; expected " +
                     std::to_string(kJournalVersion));
  }
  tool_version_ = record.header().tool_version();
  stage_ = Stage::kIdle;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<JournalEntry>> JournalReader::Next() {
  if (stage_ == Stage::kHeader) {
    TEPHRA_RETURN_IF_ERROR(ReadHeader());
    if (stage_ == Stage::kHeader) return std::nullopt;
  }
  TEPHRA_ASSIGN_OR_RETURN(const std::string* content, frames_.Next());
  if (content == nullptr && (!closed() || torn_bytes() == 0)) return std::nullopt;
  if (closed()) return Wrong(absl::StatusCode::kDataLoss, "bytes after the end of the journal");

  v1::JournalRecord record;
  if (!record.ParseFromString(*content)) {
    return Wrong(absl::StatusCode::kDataLoss, "not a record of a journal");
  }
  const Stage before = std::exchange(stage_, Stage::kIdle);
  if ((before == Stage::kTick) != (record.content_case() == v1::JournalRecord::kPlan)) {
    return Wrong(absl::StatusCode::kDataLoss,
                 before == Stage::kTick ? "a tick without its plan" : "a plan without a tick");
  }
  switch (record.content_case()) {
    case v1::JournalRecord::kEvent: {
      absl::StatusOr<Event> event = DecodeEvent(record.event());
      if (!event.ok()) return Wrong(event.status().code(), std::string(event.status().message()));
      stage_ = Stage::kEvent;
      return JournalEntry(*std::move(event));
    }
    case v1::JournalRecord::kRefusal:
      if (before != Stage::kEvent) {
        return Wrong(absl::StatusCode::kDataLoss, "a refusal without an event");
      }
      return JournalEntry(JournalRefusal{static_cast<absl::StatusCode>(record.refusal().code()),
                                         record.refusal().message()});
    case v1::JournalRecord::kTick:
      stage_ = Stage::kTick;
      return JournalEntry(JournalTick{record.tick().now_ms()});
    case v1::JournalRecord::kPlan:
      return JournalEntry(JournalPlan{record.plan()});
    case v1::JournalRecord::kEnd:
      if (record.end().records() != frames_.record()) {
        return Wrong(absl::StatusCode::kDataLoss,
                     "end: records: " + std::to_string(record.end().records()) + ", expected " +
                         std::to_string(frames_.record()));
      }
      stage_ = Stage::kClosed;
      return Next();
    case v1::JournalRecord::kHeader:
    case v1::JournalRecord::CONTENT_NOT_SET:
      break;
  }
  return Wrong(absl::StatusCode::kDataLoss,
               "content: missing, or one that this version does not know");
}

}  // namespace tephra
