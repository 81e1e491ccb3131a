// Socket: the Unix socket that the engine is reached by. Only processes of its owner are accepted.
//
// A file lock beside it ("<path>.lock") distinguishes a running server from the file of a dead one.
// One owner thread.
#pragma once

#include <memory>
#include <string>

#include "base/descriptor.h"
#include "topology/base/status.h"

namespace tephra {

class Socket {
 public:
  // Listens at the path, mode 0600. ALREADY_EXISTS: another process serves there. INVALID_ARGUMENT:
  // the path is too long for a socket, or something else than a socket is there. UNAVAILABLE: the
  // system's own reason.
  static absl::StatusOr<std::unique_ptr<Socket>> Listen(const std::string& path);
  // Removes the socket; the lock file stays.
  ~Socket();
  Socket(const Socket&) = delete;

  // The next peer of this process' own user; peers of other users are refused. An invalid one
  // after Close(), which any thread may call.
  Descriptor Accept();
  void Close();

  const std::string& path() const { return path_; }

 private:
  Socket(std::string path, Descriptor lock, Descriptor listening, Descriptor wake)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        listening_(std::move(listening)),
        wake_(std::move(wake)) {}

  std::string path_;
  Descriptor lock_, listening_, wake_;
};

}  // namespace tephra
