// Plays a case on the engine of this build and judges each round.
//
// unit: one cycle. integration: rounds; between them what was placed runs, what is on its way out
// is gone and comes again (or does not, where it is deleted), and what KAI pipelines waits. A gang
// that room is held for goes on holding it, which KAI's would have to find again.
#pragma once

#include <string>

#include "tests/peers/kai_case.h"

namespace tephra {

struct KaiResult {
  std::string difference;  // empty: the same as KAI
  std::string plans;       // what the engine decided, cycle by cycle
};

KaiResult PlayKaiCase(const KaiCase& one);

}  // namespace tephra
