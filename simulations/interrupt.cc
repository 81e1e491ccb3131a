#include "simulations/interrupt.h"

namespace tephra {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void Interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

const volatile std::sig_atomic_t* StopOnSignal() {
  std::signal(SIGINT, Interrupt);
  std::signal(SIGTERM, Interrupt);
  return &interrupted;
}

}  // namespace tephra
