// Views: what the engine knows, for whoever only looks. Pure functions of the books.
#pragma once

#include <string>

#include "plugins/framework/plan.h"
#include "plugins/framework/state.h"

namespace tephra::v1 {
class ExplainReply;
class GetStateReply;
class Note;
}  // namespace tephra::v1

namespace tephra {

// "QueueLimit": one word, for conditions and metrics. "None" where nothing stands in the way.
const char* ObstacleWord(Obstacle obstacle);

// What to tell people of a decision that leaves a gang, or part of it, waiting.
void FillNote(const Decision& decision, const Books& books, v1::Note* out);

// The job of that uid or "namespace/name", the youngest where several have the name; invalid if
// there is none.
JobId FindJob(const Books& books, const std::string& uid_or_name);

// `now`: of the last cycle. Of a job that waits, also what else would let it start and who holds
// what its queue was promised; that is some hundred trials at the most, so it is not for polling.
// REQUIRES: no Snapshot of the state lives.
void FillExplain(const State& state, JobId job, TimeMs now, v1::ExplainReply* out);

// Nodes, queues and waiting jobs; with `everything` all jobs and tasks. Lists are in the order of
// names and uids.
void FillState(const Books& books, bool everything, v1::GetStateReply* out);

}  // namespace tephra
