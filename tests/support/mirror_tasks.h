// Small questions and changes of the mirror's tasks, shared by its sources.
#pragma once

#include <algorithm>

#include "tests/support/mirror.h"

namespace tephra::mirror_tasks {

inline bool CountsToMinimum(TaskPhase phase) {
  return phase == TaskPhase::kAssumed || phase == TaskPhase::kRunning ||
         phase == TaskPhase::kSucceeded;
}

inline int Counted(const MirrorRole& role) {
  return static_cast<int>(std::count_if(role.tasks.begin(), role.tasks.end(), [](const auto& task) {
    return CountsToMinimum(task.phase);
  }));
}

inline int Pending(const MirrorRole& role) {
  return static_cast<int>(std::count_if(role.tasks.begin(), role.tasks.end(), [](const auto& task) {
    return task.phase == TaskPhase::kPending || task.phase == TaskPhase::kReserved;
  }));
}

// Takes the task's place away. It becomes pending, or absent if its pod does not exist.
inline void Unplace(const MirrorJob& job, MirrorTask& task) {
  const bool absent = job.spec.pods_exist && task.uid.empty();
  task.phase = absent ? TaskPhase::kAbsent : TaskPhase::kPending;
  task.node.clear();
  task.slices.clear();
  task.evicting = false;
}

template <class Each>
void ForEachTask(MirrorJob& job, Each each) {
  for (auto& [name, role] : job.roles) {
    for (MirrorTask& task : role.tasks) each(task);
  }
}

inline int CountPhase(MirrorJob& job, TaskPhase phase) {
  int count = 0;
  ForEachTask(job, [&](const MirrorTask& task) { count += task.phase == phase; });
  return count;
}

inline void DropReservation(MirrorTask& task) {
  task.reserved_node.clear();
  task.reserved_slices.clear();
}

// Undoes what a plan of the job assumed, or only the elastic part.
inline void TakeBack(MirrorJob& job, int plan, bool elastic_only) {
  ForEachTask(job, [&](MirrorTask& task) {
    const bool part = !elastic_only || task.assumed_part == Part::kElastic;
    if (task.phase == TaskPhase::kAssumed && task.assumed_by == plan && part) Unplace(job, task);
  });
}

}  // namespace tephra::mirror_tasks
