// Progress: a progress bar with the remaining time, drawn on stderr if stderr is a terminal.
// Without a terminal it prints nothing. It reads the wall clock, which no decision depends on. One
// owner thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace tephra {

class Progress {
 public:
  explicit Progress(const char* what);  // what is counted: "jobs"
  // Erases the bar.
  ~Progress();
  Progress(const Progress&) = delete;

  // `part`: the finished fraction of the work, 0 to 1; 0 if unknown.
  void Show(std::uint64_t done, double part);

 private:
  using Clock = std::chrono::steady_clock;
  const char* what_;
  bool on_;
  bool drawn_ = false;
  Clock::time_point began_, last_;
};

}  // namespace tephra
