#include "simulations/output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tephra {
namespace {

absl::Status Failed(const std::string& path, const std::string& why) {
  return absl::UnavailableError(path + ": cannot write the file: " + why);
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
  if (file_ != nullptr) std::fclose(file_);
  if (!committed_) std::remove(part_.c_str());
}

void OutputFile::Write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), file_); }

absl::Status OutputFile::Close() {
  if (file_ == nullptr) return absl::OkStatus();
  const bool written = std::fflush(file_) == 0 && std::ferror(file_) == 0;
  const int error = errno;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (written && closed) return absl::OkStatus();
  return Failed(path_, std::strerror(written ? errno : error));
}

absl::Status OutputFile::Commit() {
  TEPHRA_RETURN_IF_ERROR(Close());
  committed_ = std::rename(part_.c_str(), path_.c_str()) == 0;
  return committed_ ? absl::OkStatus() : Failed(path_, std::strerror(errno));
}

}  // namespace tephra
