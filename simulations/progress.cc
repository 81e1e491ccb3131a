#include "simulations/progress.h"

#include <unistd.h>

#include <cstdio>
#include <string>

namespace tephra {
namespace {

constexpr std::chrono::milliseconds kBetween(100);

}  // namespace

Progress::Progress(std::uint64_t total, const char* what)
    : total_(total),
      what_(what),
      on_(isatty(STDERR_FILENO) == 1),
      began_(Clock::now()),
      last_(began_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Show(std::uint64_t done) {
  if (!on_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < kBetween) return;
  last_ = now;
  drawn_ = true;
  const double elapsed = std::chrono::duration<double>(now - began_).count();
  if (total_ == 0 || done == 0) {
    std::fprintf(stderr, "\r\x1b[K%llu %s, %.0f s", static_cast<unsigned long long>(done), what_,
                 elapsed);
    return;
  }
  constexpr int kWidth = 30;
  const double part = static_cast<double>(done) / static_cast<double>(total_);
  const auto filled = static_cast<std::size_t>(part * kWidth);
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  std::fprintf(stderr, "\r\x1b[K[%s] %3.0f %%  %llu of %llu %s, %.0f s left", bar.c_str(),
               100 * part, static_cast<unsigned long long>(done),
               static_cast<unsigned long long>(total_), what_, elapsed * (1 - part) / part);
}

}  // namespace tephra
