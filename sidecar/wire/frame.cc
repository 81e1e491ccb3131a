#include "sidecar/wire/frame.h"

#include <zlib.h>

#include <algorithm>

#include "topology/base/check.h"

namespace tephra {
namespace {

// Tags of JournalRecord.size (1) and .crc32 (15), both of wire type 5: four bytes, low one first.
constexpr char kSizeTag = 1 << 3 | 5;
constexpr char kCrcTag = 15 << 3 | 5;

// A length below kMaxRecordBytes takes at most four bytes.
constexpr std::size_t kMaxVarintBytes = 4;
static_assert(kMaxRecordBytes < std::size_t{1} << (7 * kMaxVarintBytes));

void AppendVarint(std::uint32_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void AppendFixed(char tag, std::uint32_t value, std::string& out) {
  out.push_back(tag);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint32_t FixedAt(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

std::uint32_t Crc(std::uint32_t crc, const char* bytes, std::size_t size) {
  return static_cast<std::uint32_t>(
      crc32(crc, reinterpret_cast<const Bytef*>(bytes), static_cast<uInt>(size)));
}

}  // namespace

void AppendFrame(const std::string& content, std::uint32_t& crc, std::string& out) {
  TEPHRA_CHECK_OP(content.size(), <=, kMaxContentBytes);
  const auto size = static_cast<std::uint32_t>(content.size() + kMinRecordBytes);
  AppendVarint(size, out);
  const std::size_t begin = out.size();
  AppendFixed(kSizeTag, size, out);
  out += content;
  crc = Crc(crc, out.data() + begin, out.size() - begin);
  AppendFixed(kCrcTag, crc, out);
}

absl::StatusOr<const std::string*> FrameReader::Next() {
  offset_ = next_offset_;
  record_ = next_record_;
  std::size_t size = 0, prefix = 0;
  for (int byte = 0x80; (byte & 0x80) != 0; ++prefix) {
    if (prefix == kMaxVarintBytes) return Damaged("its length has more than 4 bytes");
    byte = in_.get();
    if (byte == std::istream::traits_type::eof()) return End(prefix);
    size |= static_cast<std::size_t>(byte & 0x7f) << (7 * prefix);
  }
  if (size < kMinRecordBytes || size > kMaxRecordBytes) {
    return Damaged("length " + std::to_string(size) + ", expected " +
                   std::to_string(kMinRecordBytes) + " to " + std::to_string(kMaxRecordBytes));
  }
  bytes_.clear();
  const bool has_size = Fill(kFrameFieldBytes);
  // What there is of the field must be right even where the file ends in the middle of it.
  std::string expected;
  AppendFixed(kSizeTag, static_cast<std::uint32_t>(size), expected);
  if (bytes_ != expected.substr(0, bytes_.size())) {
    return Damaged("length " + std::to_string(size) + " is not what the record says of itself");
  }
  if (!has_size || !Fill(size)) return End(prefix + bytes_.size());
  const std::size_t crc_at = size - kFrameFieldBytes;
  const std::uint32_t crc = Crc(crc_, bytes_.data(), crc_at);
  if (bytes_[crc_at] != kCrcTag || FixedAt(bytes_, crc_at + 1) != crc) {
    return Damaged("wrong check sum");
  }
  crc_ = crc;
  bytes_.resize(crc_at);
  bytes_.erase(0, kFrameFieldBytes);
  next_offset_ += prefix + size;
  ++next_record_;
  return &bytes_;
}

// Grows bytes_ to `size`, step by step, for a length may be a lie.
bool FrameReader::Fill(std::size_t size) {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  while (bytes_.size() < size) {
    const std::size_t had = bytes_.size(), step = std::min(kStep, size - had);
    bytes_.resize(had + step);
    in_.read(bytes_.data() + had, static_cast<std::streamsize>(step));
    bytes_.resize(had + static_cast<std::size_t>(in_.gcount()));
    if (bytes_.size() < had + step) return false;
  }
  return true;
}

absl::StatusOr<const std::string*> FrameReader::End(std::uint64_t torn_bytes) {
  if (in_.bad()) return absl::UnavailableError(Where() + ": cannot be read");
  torn_bytes_ = torn_bytes;
  return nullptr;
}

std::string FrameReader::Where() const {
  return name_ + ": record " + std::to_string(record_) + " at byte " + std::to_string(offset_);
}

absl::Status FrameReader::Damaged(const std::string& what) const {
  return absl::DataLossError(Where() + ": damaged: " + what);
}

}  // namespace tephra
