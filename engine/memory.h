// Memory: what the engine knows and no object of the cluster says. A plan carries it out when it
// has changed; the process that carries out plans keeps it, and reports it to the next engine.
//
// Today that is past usage. Plain values, by names: numbers of queues and kinds do not outlive an
// engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/base/time.h"

namespace tephra {

// Another one is refused: raised where an older engine would misread what follows.
constexpr std::uint32_t kMemoryVersion = 1;

struct RememberedAmount {
  std::string kind;
  double spent = 0;  // amount times milliseconds, decayed until Memory::at

  bool operator==(const RememberedAmount&) const = default;
};

struct RememberedUser {
  std::string user;  // empty: no user in particular
  std::vector<RememberedAmount> spent;

  bool operator==(const RememberedUser&) const = default;
};

struct RememberedQueue {
  std::string queue;
  std::vector<RememberedAmount> spent;  // without the queues under it
  std::vector<RememberedUser> users;

  bool operator==(const RememberedQueue&) const = default;
};

struct Memory {
  std::uint32_t version = kMemoryVersion;
  TimeMs at = 0;
  DurationMs half_life_ms = 0;  // under which it decayed until then
  std::vector<RememberedQueue> queues;

  bool operator==(const Memory&) const = default;
};

}  // namespace tephra
