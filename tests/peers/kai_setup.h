// The facts of a case for the engine before its first cycle.
//
//   department, queue   a queue of the tree; with deserved, limit and weight. One without a bound on
//                       what it deserves deserves all there is. Weight 0 is next to nothing, and so
//                       is a department that deserves 0. If a case asks for MIG instances only, a
//                       GPU of a quota is one of their compute slices, as KAI counts them
//   type of a node      a label; by default it is the name of the node
//   MIG instance        a device of its own: kai_hardware.h
//   job                 a gang whose pods exist; its roles are its equal tasks, in the order of the
//                       tasks. Pod sets and sub-groups: kai_gang.h
//   level of a topology a tier of domains. A job without one is placed by score alone
//   part of a GPU       that part of its compute and of its memory; of GPU memory, the part of the
//                       compute that it is of the memory
//   preemption delay    the eviction delay of the queue of the job
//   age                 created, and what runs started, as long ago
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "engine/event.h"
#include "tests/peers/kai_case.h"

namespace tephra {

constexpr TimeMs kKaiBegin = 1'000'000'000;  // when a case begins

// The task as the engine knows it.
struct KaiSeat {
  std::string job, role;
  std::int32_t index = 0;

  auto operator<=>(const KaiSeat&) const = default;
};

struct KaiSetup {
  std::vector<Event> events;             // with versions 1 and up
  std::uint64_t version = 0;             // the last of them
  std::map<std::string, KaiSeat> seats;  // by task
};

KaiSetup SetupOf(const KaiCase& one);

}  // namespace tephra
