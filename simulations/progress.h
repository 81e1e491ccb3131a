// Progress: a bar with the time left on a terminal's stderr; silent everywhere else. It reads the
// wall clock, which nothing that is decided sees. One owner thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace tephra {

class Progress {
 public:
  explicit Progress(const char* what);  // is done: "jobs"
  // Wipes the bar away.
  ~Progress();
  Progress(const Progress&) = delete;

  // `part`: of all that is to be done, 0 to 1; 0 where it is not known.
  void Show(std::uint64_t done, double part);

 private:
  using Clock = std::chrono::steady_clock;
  const char* what_;
  bool on_;
  bool drawn_ = false;
  Clock::time_point began_, last_;
};

}  // namespace tephra
