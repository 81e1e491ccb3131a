// Progress: a bar with the time left on a terminal's stderr; silent everywhere else. It reads the
// wall clock, which nothing that is decided sees. One owner thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace tephra {

class Progress {
 public:
  // `total` 0: not known, only a count is shown.
  explicit Progress(std::uint64_t total);
  // Wipes the bar away.
  ~Progress();
  Progress(const Progress&) = delete;

  void Show(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::uint64_t total_;
  bool on_;
  bool drawn_ = false;
  Clock::time_point began_, last_;
};

}  // namespace tephra
