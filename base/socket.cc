#include "base/socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "base/lock_file.h"
#include "base/log.h"

namespace tephra {
namespace {

constexpr int kWaitingPeers = 128;

absl::Status Cannot(const std::string& path, const std::string& what, int error) {
  return absl::UnavailableError("socket " + path + ": " + what + ": " + std::strerror(error));
}

bool IsOwnUser(int peer) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return false;
  if (credentials.uid == geteuid()) return true;
  LogWarning("refused a connection of another user",
             {{"uid", credentials.uid}, {"pid", credentials.pid}});
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Socket>> Socket::Listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError("socket: \"" + path + "\", expected a path of 1 to " +
                                      std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  path.copy(address.sun_path, path.size());
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  absl::StatusOr<Descriptor> lock = LockFile(path + ".lock", LockedBefore::kRefuse);
  if (absl::IsAlreadyExists(lock.status())) {
    return absl::AlreadyExistsError("socket " + path + ": another process listens on it");
  }
  if (!lock.ok()) {
    return absl::UnavailableError("socket " + path + ": " + std::string(lock.status().message()));
  }

  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      return absl::InvalidArgumentError("socket " + path + ": the path is a file and not a socket");
    }
    unlink(path.c_str());  // of a dead one, for the lock was free
  }
  Descriptor listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!listening.valid() || !wake.valid()) return Cannot(path, "cannot be made", errno);
  // There is no moment in which another user could connect.
  const mode_t before = umask(0177);
  const int bound =
      bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  umask(before);
  if (bound != 0) return Cannot(path, "cannot be bound", error);
  if (listen(listening.get(), kWaitingPeers) != 0) return Cannot(path, "cannot listen", errno);
  return std::unique_ptr<Socket>(
      new Socket(path, *std::move(lock), std::move(listening), std::move(wake)));
}

Socket::~Socket() { unlink(path_.c_str()); }

void Socket::Close() {
  const std::uint64_t one = 1;
  // It fails only where it has been called 2^64 times.
  static_cast<void>(!write(wake_.get(), &one, sizeof one));
}

Descriptor Socket::Accept() {
  while (true) {
    pollfd waits[] = {{listening_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR) return Descriptor();
    if ((waits[1].revents & POLLIN) != 0) return Descriptor();
    Descriptor peer(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer.valid()) {
      // Too many open files: a peer that waits is better than a loop that burns.
      if (errno == EMFILE || errno == ENFILE) poll(&waits[1], 1, 100);
      continue;
    }
    if (IsOwnUser(peer.get())) return peer;
  }
}

}  // namespace tephra
