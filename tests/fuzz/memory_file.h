// MemoryFile: bytes as a file without a place on any disk; its path is good for this process.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/fuzz/law.h"

namespace tephra {

class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : file_(memfd_create("fuzz", 0)) {
    Law(file_ >= 0, "a file in memory can be made");
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t written = write(file_, bytes.data() + done, bytes.size() - done);
      Law(written > 0, "it can be written");
      done += static_cast<std::size_t>(written);
    }
  }
  ~MemoryFile() { close(file_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace tephra
