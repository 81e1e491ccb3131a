// FolderCleaner removes the folders of containers that have ended, on a thread of its own and a
// bounded number of entries at a time: what a tenant left there never delays a start, and never
// keeps a slice. A folder that cannot be removed is a problem of this node, and is tried again.
//
// Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "plugins/node/problems.h"

namespace tephra::node {

class FolderCleaner {
 public:
  // Removes folders in `parent`. REQUIRES: `problems` outlives it.
  FolderCleaner(std::string parent, Problems& problems);
  ~FolderCleaner();
  FolderCleaner(const FolderCleaner&) = delete;

  // Has the folder removed, and returns at once. REQUIRES: `name` is one part of a path.
  void Remove(const std::string& name);

 private:
  using Clock = std::chrono::steady_clock;

  void Run();

  const std::string parent_;
  Problems& problems_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Clock::time_point> due_;  // by name; when it is tried next
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tephra::node
