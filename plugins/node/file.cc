#include "plugins/node/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "plugins/node/tree_removal.h"

namespace tephra::node {
namespace {

absl::Status Failed(const std::string& path, const char* what, int error) {
  const std::string text = path + ": " + what + ": " + std::strerror(error);
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(text);
    case ELOOP:
    case ENOTDIR:
    case EEXIST:
    case EROFS:
    case EACCES:
    case EPERM:
      return absl::FailedPreconditionError(text);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::UnavailableError(text);
  }
}

void RequirePart(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    std::fprintf(stderr, "bug: \"%s\" is not one part of a path\n", name.c_str());
    std::abort();
  }
}

absl::StatusOr<std::string> ReadAll(int folder, const std::string& name, const std::string& path,
                                    std::size_t most, int more_flags = O_NOFOLLOW) {
  // Not blocking: opening a pipe would wait for its other end.
  const Descriptor file(
      openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | more_flags));
  if (!file.valid()) return Failed(path, "cannot be read", errno);
  struct stat found {};
  if (fstat(file.get(), &found) != 0) return Failed(path, "cannot be read", errno);
  if (!S_ISREG(found.st_mode)) return absl::FailedPreconditionError(path + ": is not a regular file");
  std::string text;
  char part[16384];
  while (true) {
    const ssize_t got = read(file.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(path, "cannot be read", errno);
    if (got == 0) return text;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > most) {
      return absl::FailedPreconditionError(path + ": is longer than " + std::to_string(most) +
                                           " bytes");
    }
  }
}

absl::Status WriteAll(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t put = write(file, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Failed(path, "cannot be written", errno);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return absl::OkStatus();
}

Descriptor OpenFolderAt(int at, const std::string& name) {
  return Descriptor(openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

absl::StatusOr<std::vector<std::string>> NamesIn(int folder, const std::string& path) {
  // A descriptor of its own: reading a folder moves the place in it.
  const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return Failed(path, "cannot be read", errno);
  DIR* const stream = fdopendir(own);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t most) {
  return ReadAll(AT_FDCWD, path, path, most);
}

absl::StatusOr<std::string> ReadFileThroughLinks(const std::string& path, std::size_t most) {
  return ReadAll(AT_FDCWD, path, path, most, 0);
}

absl::StatusOr<Folder> Folder::Open(const std::string& path, unsigned mode) {
  std::error_code error;
  const auto above = std::filesystem::path(path).parent_path();
  if (!above.empty()) std::filesystem::create_directories(above, error);
  if (error) return Failed(above.string(), "cannot be created", error.value());
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    return Failed(path, "cannot be created", errno);
  }
  Descriptor folder = OpenFolderAt(AT_FDCWD, path);
  if (!folder.valid()) return Failed(path, "is not a folder", errno);
  return Folder(path, std::move(folder));
}

absl::StatusOr<Folder> Folder::Sub(const std::string& name, unsigned mode) const {
  RequirePart(name);
  const std::string path = path_ + "/" + name;
  if (mkdirat(folder_.get(), name.c_str(), mode) != 0 && errno != EEXIST) {
    return Failed(path, "cannot be created", errno);
  }
  Descriptor sub = OpenFolderAt(folder_.get(), name);
  if (!sub.valid()) return Failed(path, "is not a folder", errno);
  // Whatever the umask of the process is: the user of a container may have to write there.
  if (fchmod(sub.get(), mode) != 0) return Failed(path, "cannot be given its permissions", errno);
  return Folder(path, std::move(sub));
}

absl::StatusOr<std::string> Folder::Read(const std::string& name, std::size_t most) const {
  RequirePart(name);
  return ReadAll(folder_.get(), name, path_ + "/" + name, most);
}

absl::Status Folder::Write(const std::string& name, std::string_view text, unsigned mode) const {
  RequirePart(name);
  const std::string path = path_ + "/" + name, fresh = ".new-" + name;
  if (unlinkat(folder_.get(), fresh.c_str(), 0) != 0 && errno != ENOENT) {
    return Failed(path, "cannot be written", errno);
  }
  const Descriptor file(openat(folder_.get(), fresh.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file.valid()) return Failed(path, "cannot be written", errno);
  absl::Status written = WriteAll(file.get(), text, path);
  if (written.ok() && fchmod(file.get(), mode) != 0) {
    written = Failed(path, "cannot be written", errno);
  }
  if (written.ok() && renameat(folder_.get(), fresh.c_str(), folder_.get(), name.c_str()) != 0) {
    written = Failed(path, "cannot be written", errno);
  }
  if (!written.ok()) unlinkat(folder_.get(), fresh.c_str(), 0);
  return written;
}

absl::Status Folder::Rename(const std::string& name, const std::string& to) const {
  RequirePart(name);
  RequirePart(to);
  if (renameat(folder_.get(), name.c_str(), folder_.get(), to.c_str()) == 0) {
    return absl::OkStatus();
  }
  return Failed(path_ + "/" + name, "cannot be renamed", errno);
}

absl::Status Folder::Remove(const std::string& name) const {
  RequirePart(name);
  if (unlinkat(folder_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
  return Failed(path_ + "/" + name, "cannot be removed", errno);
}

absl::StatusOr<bool> Folder::RemoveTree(const std::string& name, std::size_t steps) const {
  RequirePart(name);
  return node::RemoveTree(folder_.get(), name, path_ + "/" + name, steps);
}

absl::StatusOr<std::vector<std::string>> Folder::Names() const {
  return NamesIn(folder_.get(), path_);
}

}  // namespace tephra::node
