// The engine's settings as people write them, in a simulation and in the engine's own file.
#pragma once

#include <vector>

#include "plugins/framework/config.h"
#include "text/fields.h"

namespace tephra {

// `name`, or `{ name, weight }`, one or a list of them. A null item changes nothing.
void ReadScores(const Item& item, std::vector<WeightedName>& scores);
// The words of Ties, in the order of the enum: "name" and "random".
void ReadTies(Fields& fields, Ties& ties);
// search_budget, eviction_budget, victim_costs, seed, assume_timeout, priority_boost,
// job_order, tell_behind, usage_half_life, usage_weight, gang_locality, enqueue_gate, overcommit_factor,
// full_verify_every, disabled_actions.
void ReadCommonSettings(Fields& fields, EngineConfig& config);

}  // namespace tephra
