#include "base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

namespace tephra {

absl::StatusOr<Descriptor> LockFile(const std::string& path, LockedBefore before) {
  Descriptor file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) {
    return absl::UnavailableError(path + " cannot be opened: " + std::strerror(errno));
  }
  const int how = before == LockedBefore::kWait ? LOCK_EX : LOCK_EX | LOCK_NB;
  while (flock(file.get(), how) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) {
      return absl::AlreadyExistsError(path + " is locked by another process");
    }
    return absl::UnavailableError(path + " cannot be locked: " + std::strerror(errno));
  }
  return file;
}

}  // namespace tephra
