// LineReader: reads a text file line by line in constant memory. A line that is not text is an
// error with its number.
//
// A line has at most kMostLine bytes and is UTF-8 without zero bytes. One owner thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/status.h"

namespace tephra {

class LineReader {
 public:
  static constexpr std::size_t kMostLine = 1 << 20;

  // NOT_FOUND or PERMISSION_DENIED, with the file and the message of the system.
  static absl::StatusOr<LineReader> Open(const std::string& path);

  // The next line without its end ("\n" or "\r\n"); false after the last.
  absl::StatusOr<bool> Next(std::string& line);

  const std::string& path() const { return path_; }
  // The number of the line that Next returned, from 1.
  int line() const { return line_; }
  // Whether the last line had a line end. A truncated file has none.
  bool ended() const { return ended_; }
  // The part of the file that was returned, 0 to 1; 0 for a pipe, which has no size.
  double part() const {
    return size_ > 0 ? static_cast<double>(given_) / static_cast<double>(size_) : 0;
  }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  LineReader(std::string path, std::FILE* file);
  bool Refill();

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t size_ = 0, given_ = 0;  // bytes
  int line_ = 0;
  bool ended_ = true;
};

// The whole file under the same rules, lines ended by "\n". RESOURCE_EXHAUSTED above `most` bytes.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, std::size_t most);

// The index of the first byte that is not UTF-8 (or is zero); npos if there is none.
std::size_t FirstInvalidUtf8(std::string_view text);

}  // namespace tephra
