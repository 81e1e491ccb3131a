#include "plugins/node/limited_folder.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

namespace tephra::node {
namespace {

// Of a path in /proc/self/mountinfo, where a space is "\040".
std::string Unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool IsIn(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder || path.compare(0, folder.size() + 1, folder + "/") == 0;
}

// Whether a mount below the path is seen by the host, too. proc_pid_mountinfo(5): the fields after the sixth, up to
// "-", say so.
bool IsShared(const std::string& path) {
  std::ifstream mounts("/proc/self/mountinfo");
  std::string longest;
  bool shared = false;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream in(line);
    std::vector<std::string> fields;
    for (std::string field; in >> field && field != "-";) fields.push_back(field);
    if (fields.size() < 6) continue;
    const std::string at = Unescaped(fields[4]);
    if (!IsIn(path, at) || at.size() < longest.size()) continue;  // a later mount hides an earlier one
    longest = at;
    shared = false;
    for (std::size_t i = 6; i < fields.size(); ++i) shared |= fields[i].compare(0, 7, "shared:") == 0;
  }
  return shared;
}

absl::Status Failed(const std::string& path, const char* what) {
  return absl::UnavailableError(path + ": " + what + ": " + std::strerror(errno));
}

// Whether the folder is the root of a file system of its own.
absl::StatusOr<bool> IsMounted(const std::string& path) {
  struct stat own {}, parent {};
  if (lstat(path.c_str(), &own) != 0) return Failed(path, "cannot be read");
  if (lstat((path + "/..").c_str(), &parent) != 0) return Failed(path + "/..", "cannot be read");
  return own.st_dev != parent.st_dev;
}

}  // namespace

absl::StatusOr<bool> LimitFolder(const std::string& path, const FolderLimit& limit) {
  TEPHRA_ASSIGN_OR_RETURN(const bool mounted, IsMounted(path));
  if (mounted) return true;
  if (!IsShared(path)) return false;
  std::ostringstream options;
  options << "size=" << limit.bytes << ",nr_inodes=" << limit.files << ",mode=" << std::oct << limit.mode;
  if (mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options.str().c_str()) != 0) {
    return Failed(path, "cannot get a file system of a limited size");
  }
  return true;
}

absl::Status UnlimitFolder(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0 && errno == ENOENT) return absl::OkStatus();
  TEPHRA_ASSIGN_OR_RETURN(const bool mounted, IsMounted(path));
  if (!mounted) return absl::OkStatus();
  if (umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) return Failed(path, "cannot be unmounted");
  return absl::OkStatus();
}

}  // namespace tephra::node
