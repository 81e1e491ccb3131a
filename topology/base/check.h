// A check that stays on in release: a bug stops the process with its numbers, before it can
// reach a plan. Expected failures are absl::Status; outcomes of scheduling are values.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace tephra {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* what, std::int64_t a,
                                     std::int64_t b) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%lld, %lld)\n", file, line, what,
               static_cast<long long>(a), static_cast<long long>(b));
  std::abort();
}

}  // namespace tephra

// The file is a name without folders, so that a build gives the same program in any folder.
#define TEPHRA_CHECK(condition)                                                         \
  do {                                                                                  \
    if (!(condition)) ::tephra::CheckFailed(__FILE_NAME__, __LINE__, #condition, 0, 0); \
  } while (false)

// `a op b`, with both numbers in the message.
#define TEPHRA_CHECK_OP(a, op, b)                                                        \
  do {                                                                                   \
    if (!((a)op(b)))                                                                     \
      ::tephra::CheckFailed(__FILE_NAME__, __LINE__, #a " " #op " " #b,                  \
                            static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)); \
  } while (false)
