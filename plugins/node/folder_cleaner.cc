#include "plugins/node/folder_cleaner.h"

#include <algorithm>

#include "plugins/node/file.h"

namespace tephra::node {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kStepsAtOnce = 2000;
constexpr milliseconds kBetweenSteps(10);  // for other users of the disk
constexpr milliseconds kTryAgain(30'000);

}  // namespace

FolderCleaner::FolderCleaner(std::string parent, Problems& problems)
    : parent_(std::move(parent)), problems_(problems), thread_([this] { Run(); }) {}

FolderCleaner::~FolderCleaner() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void FolderCleaner::Remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  due_[name] = Clock::now();
  changed_.notify_all();
}

void FolderCleaner::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (due_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto next = std::min_element(
        due_.begin(), due_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (next->second > Clock::now()) {
      changed_.wait_until(lock, Clock::time_point(next->second));
      continue;
    }
    const std::string name = next->first;
    lock.unlock();
    const auto folder = Folder::Open(parent_, 0755);
    const absl::StatusOr<bool> gone =
        folder.ok() ? folder->RemoveTree(name, kStepsAtOnce) : folder.status();
    if (gone.ok()) {
      problems_.Clear(problem_kind::kFolder, parent_ + "/" + name);
    } else {
      problems_.Set(problem_kind::kFolder, parent_ + "/" + name,
                    std::string(gone.status().message()) +
                        "; remove the folder by hand, its container has ended");
    }
    lock.lock();
    if (gone.ok() && *gone) {
      due_.erase(name);
    } else {
      due_[name] = Clock::now() + (gone.ok() ? kBetweenSteps : kTryAgain);
    }
  }
}

}  // namespace tephra::node
