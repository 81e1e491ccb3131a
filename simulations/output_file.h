// OutputFile: a file that is there whole or not at all: written beside its place, moved there in
// the end. One owner thread.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "topology/base/status.h"

namespace tephra {

class OutputFile {
 public:
  // Makes missing folders. UNAVAILABLE names the file and what the system says.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  // Uncommitted, it leaves nothing behind.
  ~OutputFile();

  void Write(std::string_view text);
  // Moves it to its place. UNAVAILABLE where any write failed.
  absl::Status Commit();

 private:
  OutputFile(std::string path, std::FILE* file);
  std::string path_, part_;
  std::FILE* file_;
};

}  // namespace tephra
