// BlockedGpus: GPUs that a container holds long after its pod is gone, for example because the driver does not let it
// end. The scheduler does not know of such a container, so it would give the GPU to the next pod, which waits. A
// blocked GPU is published as unhealthy, so the scheduler places pods elsewhere.
//
// Pure but for the time that it is given. One owner thread.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

#include "plugins/node/binding/books.h"
#include "plugins/node/gpu.h"

namespace tephra::node {

class BlockedGpus {
 public:
  using Clock = std::chrono::steady_clock;

  // A GPU is blocked once such a container has held it for so long.
  explicit BlockedGpus(Clock::duration after) : after_(after) {}

  // `orphans`: nonces of the holdings whose pods are gone. Returns whether anything has changed.
  bool Update(const std::map<std::string, Holding>& holdings, const std::set<std::string>& orphans, Clock::time_point now);
  // Marks blocked GPUs as unhealthy, unless they are already.
  void Mark(Gpus& gpus) const;
  // Why each GPU is blocked, by its index.
  const std::map<std::size_t, std::string>& why() const { return why_; }

 private:
  const Clock::duration after_;
  std::map<std::string, Clock::time_point> since_;  // by nonce
  std::map<std::size_t, std::string> why_;
};

}  // namespace tephra::node
