// BackgroundCall runs a function that may hang, on a thread of its own: the driver's answers are
// waited for as long as the caller wants, and no longer.
//
// Any thread may call; the function runs once at a time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tephra::node {

template <class Value>
class BackgroundCall {
 public:
  using Clock = std::chrono::steady_clock;

  // `done` is called on the thread after each call. Null: nothing is.
  explicit BackgroundCall(std::function<Value()> call, std::function<void()> done = nullptr)
      : call_(std::move(call)), done_(std::move(done)), thread_([this] { Run(); }) {}
  // Waits for the call that runs.
  ~BackgroundCall() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  BackgroundCall(const BackgroundCall&) = delete;

  // Has the function called once more, and returns at once.
  void Begin() {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
    changed_.notify_all();
  }
  // The newest result that was not taken yet; nothing: there is none.
  std::optional<Value> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(fresh_, std::nullopt);
  }
  // The result of a call that begins now; nothing: there is none before `until`.
  std::optional<Value> Ask(Clock::time_point until) {
    std::unique_lock lock(mutex_);
    const std::uint64_t number = begun_ + 1;
    wanted_ = true;
    changed_.notify_all();
    if (!changed_.wait_until(lock, until, [&] { return ended_ >= number; })) return std::nullopt;
    return newest_;
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return wanted_ || stopping_; });
      if (stopping_) return;
      wanted_ = false;
      ++begun_;
      lock.unlock();
      Value value = call_();
      lock.lock();
      ++ended_;
      newest_ = value;
      fresh_ = std::move(value);
      changed_.notify_all();
      if (done_) done_();
    }
  }

  const std::function<Value()> call_;
  const std::function<void()> done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false, stopping_ = false;
  std::uint64_t begun_ = 0, ended_ = 0;  // numbers of calls, from 1
  std::optional<Value> newest_, fresh_;
  std::thread thread_;
};

}  // namespace tephra::node
