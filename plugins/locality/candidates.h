// Where a gang could be together.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/framework/policy.h"
#include "plugins/framework/workbench.h"

namespace tephra {

// Domains tried for a gang that may go farther: each has room for every role by itself, so that the
// first one does as a rule.
constexpr std::size_t kMostTries = 8;

const Fabric& FabricOf(const Workbench& bench);

struct DomainCandidate {
  std::uint32_t domain = Fabric::kNone;
  std::int64_t room = 0;  // for the hardest role
};

// Domains with room for each role by itself and enough for all together, the nearest first, and of
// one tier those that leave the smallest hole. In no other is there room for the gang.
std::vector<DomainCandidate> CandidatesOf(Workbench& bench, const GangAsk& ask);

// Why a tied gang has no place, once it is known that it has none: no room at all, or not together.
Placer::Answer Apart(Workbench& bench, const GangAsk& ask, Placer::Answer answer);

}  // namespace tephra
