// ScratchFile: a file with given text for one test, gone afterwards.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace tephra {

class ScratchFile {
 public:
  explicit ScratchFile(const std::string& text, const std::string& suffix = "") {
    static int count = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("tephra-test-" + std::to_string(getpid()) + "-" + std::to_string(count++) + suffix))
                .string();
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~ScratchFile() { std::remove(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tephra
