#include "simulations/output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tephra {
namespace {

absl::Status Failed(const std::string& path, const std::string& why) {
  return absl::UnavailableError(path + ": cannot be written: " + why);
}

}  // namespace

OutputFile::OutputFile(std::string path, std::FILE* file)
    : path_(std::move(path)), part_(path_ + ".part"), file_(file) {
  std::setvbuf(file_, nullptr, _IOFBF, 1 << 16);
}

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return Failed(path, error.message());
  std::FILE* file = std::fopen((path + ".part").c_str(), "wb");
  if (file == nullptr) return Failed(path, std::strerror(errno));
  return std::unique_ptr<OutputFile>(new OutputFile(path, file));
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(part_.c_str());
}

void OutputFile::Write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), file_); }

absl::Status OutputFile::Commit() {
  const bool good = std::ferror(file_) == 0;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  const int error = errno;
  if (good && closed && std::rename(part_.c_str(), path_.c_str()) == 0) return absl::OkStatus();
  const int renamed = good && closed ? errno : error;
  std::remove(part_.c_str());
  return Failed(path_, std::strerror(renamed));
}

}  // namespace tephra
