// HttpPaths: the handlers of HttpServer, and a thread for each path that runs them.
//
// Handle and Ask may be called by different threads. `done` is called on the thread of the path.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/http_server.h"

namespace tephra {

class HttpPaths {
 public:
  // The requests that one answer is for, by the number that Ask was given.
  using Done = std::function<void(std::vector<std::uint64_t> requests, HttpServer::Answer answer)>;

  explicit HttpPaths(Done done) : done_(std::move(done)) {}
  ~HttpPaths() { Stop(); }

  void Handle(const std::string& path, HttpServer::Handler handler);
  // Has an answer made for the request. False: the path has no handler.
  bool Ask(const std::string& path, std::uint64_t request);
  // Returns when no handler runs any more. Requests that still wait get no answer.
  void Stop();

 private:
  struct Path {
    std::shared_ptr<const HttpServer::Handler> handler;
    std::vector<std::uint64_t> waiting;
    std::thread thread;
  };
  void Run(Path& path);

  const Done done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Path> paths_;
  bool stopping_ = false;
};

}  // namespace tephra
