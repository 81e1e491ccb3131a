// Frames: how records lie in a journal file. A varint length, then that many bytes, of which the
// first five and the last five are the fields `size` and `crc32` of JournalRecord and the rest is
// the content. The check sum runs on from record to record.
//
// So a file that ends early is cut, and anything else that is wrong is damage: no flipped bit is
// taken for a cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>

#include "topology/base/status.h"

namespace tephra {

// Far above any fact or plan: 64 MiB are a million placements.
constexpr std::size_t kMaxRecordBytes = std::size_t{64} << 20;
constexpr std::size_t kFrameFieldBytes = 5;
constexpr std::size_t kMinRecordBytes = 2 * kFrameFieldBytes;
constexpr std::size_t kMaxContentBytes = kMaxRecordBytes - kMinRecordBytes;

// Appends one frame to `out`. `crc` is zero before the first one.
// REQUIRES: content.size() <= kMaxContentBytes.
void AppendFrame(const std::string& content, std::uint32_t& crc, std::string& out);

// Reads frames one by one in memory that the largest of them bounds. One owner thread.
class FrameReader {
 public:
  // `name` is what errors call the file. The stream must outlive the reader.
  FrameReader(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {}

  // The content of the next frame, or null after the last whole one. DATA_LOSS where the bytes
  // are damaged, UNAVAILABLE where the file cannot be read. The string is kept until the next call.
  absl::StatusOr<const std::string*> Next();

  // "<name>: record 3 at byte 217": where Next() last looked; the header is record 0.
  std::string Where() const;
  std::uint64_t record() const { return record_; }
  std::uint64_t offset() const { return offset_; }
  // Bytes behind the last whole record, known once Next() gave null.
  std::uint64_t torn_bytes() const { return torn_bytes_; }

 private:
  absl::Status Damaged(const std::string& what) const;
  absl::StatusOr<const std::string*> End(std::uint64_t torn_bytes);
  bool Fill(std::size_t size);

  std::istream& in_;
  std::string name_;
  std::string bytes_;  // of the record, and then its content alone
  std::uint32_t crc_ = 0;
  std::uint64_t offset_ = 0;  // of the frame that Next() last looked at
  std::uint64_t next_offset_ = 0;
  std::uint64_t record_ = 0;
  std::uint64_t next_record_ = 0;
  std::uint64_t torn_bytes_ = 0;
};

}  // namespace tephra
