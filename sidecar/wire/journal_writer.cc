#include "sidecar/wire/journal_writer.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "sidecar/wire/event_codec.h"
#include "sidecar/wire/frame.h"
#include "sidecar/wire/journal_format.h"
#include "sidecar/wire/plan_codec.h"
#include "tephra/v1/journal.pb.h"
#include "tephra/v1/plan.pb.h"

namespace tephra {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

absl::Status CannotWrite(const std::string& name, int error) {
  const std::string why = error == 0 ? "" : std::string(": ") + std::strerror(error);
  return absl::UnavailableError("journal " + name + ": cannot be written" + why);
}

}  // namespace

// Messages and bytes that are used again for every record: their memory is asked for once.
struct JournalWriter::Scratch {
  v1::JournalRecord record;
  v1::Plan plan;
  std::string content;
};

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalWriter::Create(const std::string& path) {
  errno = 0;
  std::ofstream file;
  // The writer has a buffer of its own; what a second one still held after a failure would be
  // written when the file is closed, behind a gap.
  file.rdbuf()->pubsetbuf(nullptr, 0);
  file.open(path, std::ios::binary | std::ios::trunc);
  if (!file) return CannotWrite(path, errno);
  return std::unique_ptr<JournalWriter>(new JournalWriter(std::move(file), path));
}

JournalWriter::JournalWriter(std::ofstream file, std::string name)
    : file_(std::move(file)), out_(file_), name_(std::move(name)) {
  Begin();
}

JournalWriter::JournalWriter(std::ostream& out, std::string name)
    : out_(out), name_(std::move(name)) {
  Begin();
}

// Not closed: what is there is kept, as a journal that was cut.
JournalWriter::~JournalWriter() { Flush(); }

void JournalWriter::Begin() {
  scratch_ = std::make_unique<Scratch>();
  v1::JournalHeader* header = scratch_->record.mutable_header();
  header->set_format(kJournalFormat);
  header->set_format_version(kJournalVersion);
  header->set_tool_version(TEPHRA_VERSION);
  Append();
}

absl::Status JournalWriter::Record(const Event& event) {
  v1::JournalRecord& record = scratch_->record;
  record.Clear();
  TEPHRA_RETURN_IF_ERROR(EncodeEvent(event, record.mutable_event()));
  if (const std::size_t size = record.ByteSizeLong(); size > kMaxContentBytes) {
    return absl::InvalidArgumentError("event: " + std::to_string(size) +
                                      " bytes, expected at most " +
                                      std::to_string(kMaxContentBytes));
  }
  Append();
  return absl::OkStatus();
}

void JournalWriter::RecordRefusal(const absl::Status& why) {
  scratch_->record.Clear();
  v1::JournalRefusal* refusal = scratch_->record.mutable_refusal();
  refusal->set_code(static_cast<int>(why.code()));
  refusal->set_message(std::string(why.message()));
  Append();
}

void JournalWriter::RecordTick(TimeMs now) {
  scratch_->record.Clear();
  scratch_->record.mutable_tick()->set_now_ms(now);
  Append();
  Flush();
}

void JournalWriter::RecordPlan(const Plan& plan, const Books& books) {
  scratch_->plan.Clear();
  EncodePlan(plan, books, &scratch_->plan);
  scratch_->record.Clear();
  scratch_->plan.SerializeToString(scratch_->record.mutable_plan());
  Append();
}

absl::Status JournalWriter::Close() {
  scratch_->record.Clear();
  scratch_->record.mutable_end()->set_records(records_);
  Append();
  Flush();
  if (status_.ok() && file_.is_open()) {
    errno = 0;
    file_.close();
    if (!file_) status_ = CannotWrite(name_, errno);
  }
  return status_;
}

// Frames scratch_->record.
void JournalWriter::Append() {
  if (!status_.ok()) return;
  std::string& content = scratch_->content;
  scratch_->record.SerializeToString(&content);
  if (content.size() > kMaxContentBytes) {
    Flush();
    status_ = absl::ResourceExhaustedError(
        "journal " + name_ + ": record " + std::to_string(records_) + ": " +
        std::to_string(content.size()) + " bytes, expected at most " +
        std::to_string(kMaxContentBytes));
    return;
  }
  const std::size_t before = buffer_.size();
  AppendFrame(content, crc_, buffer_);
  bytes_ += buffer_.size() - before;
  ++records_;
  if (buffer_.size() >= kBufferBytes) Flush();
}

void JournalWriter::Flush() {
  if (!status_.ok() || buffer_.empty()) return;
  errno = 0;
  out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  out_.flush();
  if (!out_) status_ = CannotWrite(name_, errno);
  buffer_.clear();
}

}  // namespace tephra
