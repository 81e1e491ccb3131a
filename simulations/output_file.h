// OutputFile: a file that appears complete or not at all. It is written under a temporary name and
// renamed by Commit(). One owner thread.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "topology/base/status.h"

namespace tephra {

class OutputFile {
 public:
  // Creates missing folders. UNAVAILABLE names the file and the system error.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  // Removes the temporary file if Commit() was not called.
  ~OutputFile();

  void Write(std::string_view text);
  // Writes what is buffered to the disk. UNAVAILABLE if any write failed. Nothing may be written
  // afterwards. Closing several files before the first Commit() makes them appear together.
  absl::Status Close();
  // Closes the file if it is open, and renames it to its final name.
  absl::Status Commit();

 private:
  OutputFile(std::string path, std::FILE* file);
  std::string path_, part_;
  bool committed_ = false;
  std::FILE* file_;
};

}  // namespace tephra
