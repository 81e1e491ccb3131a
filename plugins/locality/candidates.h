// Candidates: the domains that may hold a whole gang. Pure functions over a workbench.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy.h"
#include "engine/workbench.h"

namespace tephra {

// How many domains are tried for a gang that only prefers to be together. Each has room for every
// role alone, so as a rule the first one fits.
constexpr std::size_t kMostTries = 8;

const Fabric& FabricOf(const Workbench& bench);

struct DomainCandidate {
  std::uint32_t domain = Fabric::kNone;
  std::int64_t room = 0;  // for the hardest role
};

// The domains with room for each role alone and enough room in total. Sorted by tier, the lowest
// first, then by room, the least first. No other domain has room for the gang.
std::vector<DomainCandidate> CandidatesOf(Workbench& bench, const GangAsk& ask);

// Completes the answer for a gang that must run in one domain and does not fit: no room at all, or
// not in one domain.
Placer::Answer Apart(Workbench& bench, const GangAsk& ask, Placer::Answer answer);

}  // namespace tephra
