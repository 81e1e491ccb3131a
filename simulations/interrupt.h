// Ctrl-C, and SIGTERM, as a wish to end that long work looks at. The second one ends it at once.
#pragma once

#include <csignal>

namespace tephra {

constexpr int kInterrupted =
    130;  // the exit code, as a shell has it of a program that SIGINT ended

// From now on; not 0 once a signal came.
const volatile std::sig_atomic_t* StopOnSignal();

}  // namespace tephra
