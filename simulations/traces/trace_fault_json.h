// The faults of a trace as JSON, by the name of the fault.
#pragma once

#include <nlohmann/json.hpp>

#include "simulations/traces/trace_fault.h"

namespace tephra {

nlohmann::ordered_json TraceFaultsJson(const TraceFaultCounts& faults);

}  // namespace tephra
