// CallWatch knows which calls of the driver run now, so that a call that never returns is noticed.
// Any thread.
#pragma once

#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <string>

namespace tephra::node {

class CallWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // One call, for as long as the object lives.
  class Running {
   public:
    Running(CallWatch& watch, const char* name) : watch_(watch) {
      const std::lock_guard lock(watch_.mutex_);
      call_ = watch_.calls_.insert(watch_.calls_.end(), {name, Clock::now()});
    }
    ~Running() {
      const std::lock_guard lock(watch_.mutex_);
      watch_.calls_.erase(call_);
    }
    Running(const Running&) = delete;

   private:
    friend class CallWatch;
    CallWatch& watch_;
    std::list<std::pair<const char*, Clock::time_point>>::iterator call_;
  };

  // The oldest call that has run for longer than `limit`: "nvmlDeviceGetCount_v2". Nothing: there is
  // none.
  std::optional<std::string> Hung(Clock::duration limit) const {
    const std::lock_guard lock(mutex_);
    if (calls_.empty()) return std::nullopt;
    const auto& [name, began] = calls_.front();
    return Clock::now() - began > limit ? std::optional<std::string>(name) : std::nullopt;
  }

 private:
  mutable std::mutex mutex_;
  std::list<std::pair<const char*, Clock::time_point>> calls_;  // by their beginning
};

}  // namespace tephra::node
