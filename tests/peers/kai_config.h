// The configuration of the engine for the actions that a case of KAI-Scheduler runs.
#pragma once

#include "engine/config.h"
#include "tests/peers/kai_case.h"

namespace tephra {

EngineConfig KaiConfig(const KaiCase& one);

// Whether any action of the case may evict a task.
bool KaiMayEvict(const KaiCase& one);

}  // namespace tephra
