// Progress: a bar with the time left on a terminal's stderr; silent everywhere else. It reads the
// wall clock, which nothing that is decided sees. One owner thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace tephra {

class Progress {
 public:
  // Of `total` jobs, or what is said. 0: not known, only a count is shown.
  explicit Progress(std::uint64_t total, const char* what = "jobs");
  // Wipes the bar away.
  ~Progress();
  Progress(const Progress&) = delete;

  void Show(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::uint64_t total_;
  const char* what_;
  bool on_;
  bool drawn_ = false;
  Clock::time_point began_, last_;
};

}  // namespace tephra
