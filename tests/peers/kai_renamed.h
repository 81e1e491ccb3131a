// Whether two outcomes of a case are the same but for the names of domains: racks that the case
// does not tell apart may change places, whole.
#pragma once

#include <map>
#include <string>

#include "tests/peers/kai_case.h"
#include "tests/peers/kai_setup.h"

namespace tephra {

// Compares the tasks that are expected to be on a node; false where the case leaves a node open.
//
// Both outcomes are written down as a tree of the case's levels in which no domain and no node has
// a name, only what it holds, and parts are sorted: equal texts, equal trees.
bool SameButForNames(const KaiCase& one, const KaiSetup& setup,
                     const std::map<std::string, KaiOutcome>& actual);

}  // namespace tephra
