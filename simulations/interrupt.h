// Ctrl-C, and SIGTERM, as a wish to end that long work looks at. The second one ends it at once.
#pragma once

#include <atomic>

namespace tephra {

constexpr int kInterrupted =
    130;  // the exit code, as a shell has it of a program that SIGINT ended

// From now on; true once a signal came. Any thread may look.
const std::atomic<bool>* StopOnSignal();

}  // namespace tephra
