// Files of a sweep in a folder of their own, gone at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace tephra {

class MadeSweep {
 public:
  MadeSweep()
      : folder_(std::filesystem::temp_directory_path() /
                ("sweep-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)))) {
    std::filesystem::create_directories(folder_);
  }
  ~MadeSweep() { std::filesystem::remove_all(folder_); }
  MadeSweep(const MadeSweep&) = delete;

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return Path(name);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace tephra
