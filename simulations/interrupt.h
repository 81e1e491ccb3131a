// Interruption by Ctrl-C (SIGINT) or SIGTERM. Long-running work polls the flag and stops cleanly. A
// second signal ends the process at once.
#pragma once

#include <atomic>

namespace tephra {

constexpr int kInterrupted = 130;  // the exit code of a shell for SIGINT

// Installs the handlers. The flag is true after the first signal. Any thread may read it.
const std::atomic<bool>* StopOnSignal();

}  // namespace tephra
