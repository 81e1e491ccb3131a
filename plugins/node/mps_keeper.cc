#include "plugins/node/mps_keeper.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/descriptor.h"
#include "base/log.h"

namespace tephra::node {
namespace {

void Drain(int events) {
  alignas(inotify_event) char buffer[4096];
  while (read(events, buffer, sizeof buffer) > 0) {
  }
}

}  // namespace

absl::Status KeepMpsDaemons(const MpsDaemons& daemons, int signals, int look_ms) {
  const Descriptor events(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  std::string last;
  while (true) {
    const absl::Status status = daemons.StartWanted();
    const std::string why(status.message());
    if (!status.ok() && why != last) LogWarning("an MPS daemon is missing", {{"why", why}});
    last = why;
    // The folder exists now. It is watched again each time, because it may be a new one.
    if (inotify_add_watch(events.get(), daemons.WantedFolder().c_str(),
                          IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
      return absl::UnavailableError(daemons.WantedFolder() + ": " + std::strerror(errno));
    }
    pollfd polled[] = {{signals, POLLIN, 0}, {events.get(), POLLIN, 0}};
    if (poll(polled, 2, look_ms) < 0) continue;
    if ((polled[0].revents & POLLIN) != 0) return absl::OkStatus();
    Drain(events.get());
  }
}

}  // namespace tephra::node
