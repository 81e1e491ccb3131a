// Assumptions: what plans brought about that no fact has confirmed yet. It counts as done until
// facts confirm it, outcomes deny it, or the time for either is over.
//
// Part of State; one owner thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "engine/plan.h"
#include "engine/task_table.h"

namespace tephra {

class Assumptions {
 public:
  // Takes the plan as done, and remembers its verdicts.
  void Assume(TaskTable& table, const Plan& plan);
  // Gives up assumptions that are older than the configured time, and what is left unconfirmed of
  // nodes that failed a binding.
  void Expire(TaskTable& table, TimeMs now);
  // Gives up what that plan assumed for the job.
  void TakeBack(TaskTable& table, JobId job, std::uint64_t plan, bool elastic_only);

  // Keeps the class off the node until one of them changes.
  void Refuse(TaskTable& table, ClassId cls, const std::string& node);
  // No fact says when what was in the way of a binding is gone, so the node is tried again once an
  // assumption would have been given up.
  void RefuseForNow(TaskTable& table, ClassId cls, const std::string& node);
  void ForgiveRefusals(TaskTable& table, TimeMs now);

 private:
  void Assume(TaskTable& table, const Decision& decision, TimeMs now);
  void Mark(TaskTable& table, TaskId task, Part part, TimeMs now);
  void Evict(TaskTable& table, const Decision& decision, TimeMs now);

  std::deque<std::pair<TimeMs, TaskId>> open_;
  std::deque<std::pair<TimeMs, std::uint64_t>> failed_binds_;  // of Books::refused, those for now
  std::uint64_t plans_ = 0;                                    // assumed so far
};

}  // namespace tephra
