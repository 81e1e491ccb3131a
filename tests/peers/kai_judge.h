// Whether what became of a case is what KAI expects: the status of each task that is named, its
// node unless the input does not tell the nodes, or domains of them, apart, and no more calls than
// it allows.
//
// Tasks that the input does not tell apart may change places.
#pragma once

#include <map>
#include <string>

#include "tests/peers/kai_case.h"
#include "tests/peers/kai_setup.h"

namespace tephra {

struct KaiCalls {
  int binds = 0, evictions = 0, pipelines = 0;
};

// What differs, in words; empty: nothing.
std::string StatesDiffer(const KaiCase& one, const KaiSetup& setup,
                         const std::map<std::string, KaiOutcome>& actual);
std::string CallsDiffer(const KaiCase& one, const KaiCalls& calls);

}  // namespace tephra
