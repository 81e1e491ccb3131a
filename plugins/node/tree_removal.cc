#include "plugins/node/tree_removal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/descriptor.h"
#include "plugins/node/binding/nonce.h"

namespace tephra::node {
namespace {

// So many names of a folder are in memory at a time.
constexpr std::size_t kNamesAtOnce = 1024;

bool Unlink(int at, const std::string& name, int flags) {
  return unlinkat(at, name.c_str(), flags) == 0 || errno == ENOENT;
}

// The folder may have lost the permissions of its owner.
Descriptor OpenFolder(int at, const std::string& name) {
  constexpr int kFlags = O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
  Descriptor folder(openat(at, name.c_str(), O_RDONLY | kFlags));
  if (folder.valid() || errno != EACCES) return folder;
  const Descriptor place(openat(at, name.c_str(), O_PATH | kFlags));
  if (!place.valid()) return Descriptor();
  const std::string link = "/proc/self/fd/" + std::to_string(place.get());
  if (chmod(link.c_str(), 0700) != 0) return Descriptor();
  return Descriptor(openat(at, name.c_str(), O_RDONLY | kFlags));
}

class Removal {
 public:
  Removal(Descriptor top, std::string path, std::size_t steps)
      : top_(std::move(top)), path_(std::move(path)), steps_(steps) {}

  // True: the top is empty.
  absl::StatusOr<bool> Run() {
    while (true) {
      const std::vector<std::string> names = Names(top_.get());
      if (names.empty()) return true;
      progress_ = false;
      error_ = absl::OkStatus();
      for (const std::string& name : names) {
        if (steps_ == 0) return false;
        RemoveBelowTop(name);
      }
      if (!progress_) return error_.ok() ? absl::UnavailableError(path_ + ": cannot be read") : error_;
    }
  }

 private:
  std::vector<std::string> Names(int folder) const {
    std::vector<std::string> names;
    // A descriptor of its own: reading a folder moves the place in it.
    const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const stream = own < 0 ? nullptr : fdopendir(own);
    if (stream == nullptr) return names;
    const std::size_t most = std::min(kNamesAtOnce, std::max<std::size_t>(steps_, 1));
    while (names.size() < most) {
      const dirent* const entry = readdir(stream);
      if (entry == nullptr) break;
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    closedir(stream);
    return names;
  }

  // True: the entry is gone. False: it is a folder with something in it, or it cannot be removed.
  bool Remove(int at, const std::string& name) {
    --steps_;
    const bool gone = Unlink(at, name, 0) || (IsFolder(at, name) && Unlink(at, name, AT_REMOVEDIR));
    progress_ |= gone;
    return gone;
  }

  static bool IsFolder(int at, const std::string& name) {
    const int why = errno;
    struct stat found {};
    const bool folder =
        fstatat(at, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode);
    if (!folder) errno = why;
    return folder;
  }

  void RemoveBelowTop(const std::string& name) {
    if (Remove(top_.get(), name)) return;
    if (errno != ENOTEMPTY && errno != EEXIST) return Fail(name);
    const Descriptor folder = OpenFolder(top_.get(), name);
    if (!folder.valid()) return Fail(name);
    for (const std::string& inside : Names(folder.get())) {
      if (steps_ == 0) return;
      if (Remove(folder.get(), inside)) continue;
      const bool filled = errno == ENOTEMPTY || errno == EEXIST;
      if (!filled || renameat(folder.get(), inside.c_str(), top_.get(), NewNonce().c_str()) != 0) {
        Fail(name + "/" + inside);
      } else {
        progress_ = true;
      }
    }
  }

  void Fail(const std::string& what) {
    if (!error_.ok()) return;
    error_ = absl::UnavailableError(path_ + "/" + what +
                                    ": cannot be removed: " + std::strerror(errno));
  }

  const Descriptor top_;
  const std::string path_;
  std::size_t steps_;
  bool progress_ = false;  // in this round: something was removed or moved
  absl::Status error_;     // the first of this round
};

}  // namespace

absl::StatusOr<bool> RemoveTree(int at, const std::string& name, const std::string& path,
                                std::size_t steps) {
  // A file, a link, or an empty folder.
  if (Unlink(at, name, 0) || Unlink(at, name, AT_REMOVEDIR)) return true;
  Descriptor top = OpenFolder(at, name);
  if (top.valid()) {
    TEPHRA_ASSIGN_OR_RETURN(const bool empty, Removal(std::move(top), path, steps).Run());
    if (!empty) return false;
    if (Unlink(at, name, AT_REMOVEDIR)) return true;
  }
  return absl::UnavailableError(path + ": cannot be removed: " + std::strerror(errno));
}

}  // namespace tephra::node
