#include "sidecar/owner_thread.h"

#include <future>
#include <utility>

namespace tephra {

OwnerThread::OwnerThread() : thread_([this] { Live(); }) {}

OwnerThread::~OwnerThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  posted_.notify_one();
  thread_.join();
}

void OwnerThread::Post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  posted_.notify_one();
}

void OwnerThread::Run(const std::function<void()>& work) {
  std::promise<void> done;
  Post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void OwnerThread::Live() {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return ending_ || !work_.empty(); });
    if (work_.empty()) return;
    {
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
    }
    lock.lock();
  }
}

}  // namespace tephra
