// Note: why a gang is pending, for users, conditions and metrics. Pure functions of the books.
#pragma once

#include "engine/plan.h"
#include "engine/snapshot.h"

namespace tephra::v1 {
class Note;
}

namespace tephra {

// "QueueLimit": one word, for conditions and metrics. "None" where nothing stands in the way.
const char* ObstacleWord(Obstacle obstacle);

// Why a decision leaves a gang, or part of it, pending, for users.
void FillNote(const Decision& decision, const Books& books, v1::Note* out);

}  // namespace tephra
