// OwnerThread: the one thread that an engine belongs to; others hand it what is to be done.
//
// Post may be called from any thread. What was posted runs in that order, one at a time.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tephra {

class OwnerThread {
 public:
  OwnerThread();
  // Does what was posted so far, then ends. REQUIRES: nobody posts any more.
  ~OwnerThread();
  OwnerThread(const OwnerThread&) = delete;
  OwnerThread& operator=(const OwnerThread&) = delete;

  void Post(std::function<void()> work);
  // Posts, and waits until it is done. Never from the owner thread itself.
  void Run(const std::function<void()>& work);

 private:
  void Live();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> work_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tephra
