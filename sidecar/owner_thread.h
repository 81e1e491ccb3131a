// OwnerThread is the one thread that an engine belongs to. Other threads post work to it.
//
// Post may be called from any thread. Work runs one piece at a time, in the order of the calls.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tephra {

class OwnerThread {
 public:
  OwnerThread();
  // Finishes the work that was posted, then ends. REQUIRES: no thread posts any more.
  ~OwnerThread();
  OwnerThread(const OwnerThread&) = delete;
  OwnerThread& operator=(const OwnerThread&) = delete;

  void Post(std::function<void()> work);
  // Posts, and waits until it is done. Never from the owner thread itself.
  void Run(const std::function<void()>& work);

  // How long the piece of work runs that is being done; zero: none is. Waits for no work.
  std::chrono::steady_clock::duration BusyFor() const;

 private:
  void Live();

  // When the piece of work began, of the steady clock; 0: none runs.
  std::atomic<std::chrono::steady_clock::rep> began_ = 0;

  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> work_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tephra
