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

std::chrono::steady_clock::duration OwnerThread::BusyFor() const {
  using Clock = std::chrono::steady_clock;
  const Clock::duration began(began_.load());
  return began.count() == 0 ? Clock::duration::zero() : Clock::now().time_since_epoch() - began;
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
      began_ = std::chrono::steady_clock::now().time_since_epoch().count();
      work();
      began_ = 0;
    }
    lock.lock();
  }
}

}  // namespace tephra
