// Plays a case on the engine of this build and judges each round.
//
// unit: one cycle. integration: rounds; between them what was placed runs, terminating tasks
// are gone and created again (unless the case deletes them), and pipelined tasks wait. A gang with a
// reservation keeps it, while KAI's would have to find a place again.
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
