// Views of what the engine knows, for Explain and GetState. Pure functions of the books.
#pragma once

#include <string>

#include "engine/plan.h"
#include "engine/state.h"

namespace tephra::v1 {
class ExplainReply;
class GetStateReply;
}  // namespace tephra::v1

namespace tephra {

// The job of that uid or "namespace/name", the youngest where several have the name; invalid if
// there is none.
JobId FindJob(const Books& books, const std::string& uid_or_name);

// `now`: of the last cycle. For a pending job also the changes that would let it start, and the
// queues that hold more than their share. That takes up to some hundred trials: do not poll it.
// REQUIRES: no Snapshot of the state lives.
void FillExplain(const State& state, JobId job, TimeMs now, v1::ExplainReply* out);

// Nodes, queues and waiting jobs; with `everything` all jobs and tasks. Lists are in the order of
// names and uids.
void FillState(const Books& books, bool everything, v1::GetStateReply* out);

}  // namespace tephra
