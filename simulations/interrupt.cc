#include "simulations/interrupt.h"

#include <csignal>

namespace tephra {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // required in a signal handler

void Interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>* StopOnSignal() {
  std::signal(SIGINT, Interrupt);
  std::signal(SIGTERM, Interrupt);
  return &interrupted;
}

}  // namespace tephra
