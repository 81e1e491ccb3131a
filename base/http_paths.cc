#include "base/http_paths.h"

#include <utility>

namespace tephra {

void HttpPaths::Handle(const std::string& path, HttpServer::Handler handler) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  Path& place = paths_[path];
  place.handler = std::make_shared<const HttpServer::Handler>(std::move(handler));
  if (!place.thread.joinable()) place.thread = std::thread([this, &place] { Run(place); });
}

bool HttpPaths::Ask(const std::string& path, std::uint64_t request) {
  const std::lock_guard lock(mutex_);
  const auto found = paths_.find(path);
  if (found == paths_.end()) return false;
  found->second.waiting.push_back(request);
  changed_.notify_all();
  return true;
}

void HttpPaths::Run(Path& path) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !path.waiting.empty(); });
    if (stopping_) return;
    std::vector<std::uint64_t> requests = std::exchange(path.waiting, {});
    const std::shared_ptr<const HttpServer::Handler> handler = path.handler;
    lock.unlock();
    done_(std::move(requests), (*handler)());
    lock.lock();
  }
}

void HttpPaths::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  // No path is added any more.
  for (auto& [name, path] : paths_) {
    if (path.thread.joinable()) path.thread.join();
  }
}

}  // namespace tephra
