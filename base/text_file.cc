#include "base/text_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bad_input.h"

namespace tephra {
namespace {

// How many bytes follow the first byte, and the least code point of that length; -1 if no sequence
// starts with this byte.
int Followers(unsigned char first, std::uint32_t& least, std::uint32_t& point) {
  if (first < 0x80) return least = 0, point = first, 0;
  if (first >> 5 == 0x06) return least = 0x80, point = first & 0x1f, 1;
  if (first >> 4 == 0x0e) return least = 0x800, point = first & 0x0f, 2;
  if (first >> 3 == 0x1e) return least = 0x10000, point = first & 0x07, 3;
  return -1;
}

}  // namespace

std::size_t FirstInvalidUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    std::uint32_t least = 0, point = 0;
    const int more = Followers(static_cast<unsigned char>(text[i]), least, point);
    if (more < 0 || text[i] == '\0' || i + static_cast<std::size_t>(more) >= text.size()) return i;
    for (int k = 1; k <= more; ++k) {
      const auto byte = static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]);
      if (byte >> 6 != 2) return i;
      point = point << 6 | (byte & 0x3f);
    }
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    if (point < least || surrogate || point > 0x10ffff) return i;
    i += static_cast<std::size_t>(more) + 1;
  }
  return std::string_view::npos;
}

LineReader::LineReader(std::string path, std::FILE* file)
    : path_(std::move(path)), file_(file), buffer_(1 << 16) {
  struct stat about = {};
  if (fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode)) {
    size_ = static_cast<std::uint64_t>(about.st_size);
  }
}

absl::StatusOr<LineReader> LineReader::Open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  const int error = errno;
  if (file != nullptr) return LineReader(path, file);
  const std::string text = path + ": cannot be opened: " + std::strerror(error);
  return error == ENOENT ? absl::NotFoundError(text) : absl::PermissionDeniedError(text);
}

bool LineReader::Refill() {
  begin_ = 0;
  end_ = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
  return end_ > 0;
}

absl::StatusOr<bool> LineReader::Next(std::string& line) {
  line.clear();
  ended_ = false;
  bool any = false;
  while (!ended_ && (begin_ < end_ || Refill())) {
    any = true;
    const char* from = buffer_.data() + begin_;
    const auto* stop = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    ended_ = stop != nullptr;
    const std::size_t size = ended_ ? static_cast<std::size_t>(stop - from) : end_ - begin_;
    begin_ += size + (ended_ ? 1 : 0);
    given_ += size + (ended_ ? 1 : 0);
    line.append(from, size);
    if (line.size() > kMostLine) {
      return BadInput(path_, line_ + 1, "", line,
                      "a line of at most " + std::to_string(kMostLine) + " bytes");
    }
  }
  if (std::ferror(file_.get()) != 0) {
    return absl::DataLossError(path_ + ":" + std::to_string(line_ + 1) +
                               ": cannot be read: " + std::strerror(errno));
  }
  if (!any) return false;
  ++line_;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  const std::size_t bad = FirstInvalidUtf8(line);
  if (bad != std::string_view::npos) {
    return BadInput(path_, line_, "byte " + std::to_string(bad + 1),
                    std::string_view(line).substr(bad, 4), "UTF-8 text");
  }
  return true;
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path, std::size_t most) {
  TEPHRA_ASSIGN_OR_RETURN(LineReader reader, LineReader::Open(path));
  std::string text, line;
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, reader.Next(line));
    if (!more) return text;
    if (text.size() + line.size() > most) {
      return absl::ResourceExhaustedError(path + ":" + std::to_string(reader.line()) +
                                          ": expected a file of at most " + std::to_string(most) +
                                          " bytes");
    }
    text += line;
    text += '\n';
  }
}

}  // namespace tephra
