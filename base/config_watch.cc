#include "base/config_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/log.h"

namespace tephra {

ConfigWatch::ConfigWatch(const std::string& path)
    : watch_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE;
  if (watch_.valid() && inotify_add_watch(watch_.get(), folder.c_str(), kChanges) >= 0) return;
  LogWarning("cannot watch the configuration folder; send SIGHUP after a change",
             {{"folder", folder.string()}, {"why", std::strerror(errno)}});
  watch_ = Descriptor();
}

void ConfigWatch::Drain() {
  char events[4096];
  while (read(watch_.get(), events, sizeof events) > 0) {
  }
}

}  // namespace tephra
