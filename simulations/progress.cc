#include "simulations/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace tephra {
namespace {

constexpr std::chrono::milliseconds kBetween(100);

}  // namespace

Progress::Progress(const char* what)
    : what_(what), on_(isatty(STDERR_FILENO) == 1), began_(Clock::now()), last_(began_) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Show(std::uint64_t done, double part) {
  if (!on_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_ < kBetween) return;
  last_ = now;
  drawn_ = true;
  const double elapsed = std::chrono::duration<double>(now - began_).count();
  const auto count = static_cast<unsigned long long>(done);
  if (part <= 0) {
    std::fprintf(stderr, "\r\x1b[K%llu %s, %.0f s", count, what_, elapsed);
    return;
  }
  constexpr int kWidth = 30;
  const auto filled = static_cast<std::size_t>(std::min(part, 1.0) * kWidth);
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  std::fprintf(stderr, "\r\x1b[K[%s] %3.0f %%  %llu %s, %.0f s left", bar.c_str(), 100 * part,
               count, what_, elapsed * (1 - part) / part);
}

}  // namespace tephra
