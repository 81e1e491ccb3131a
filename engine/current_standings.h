// CurrentStandings: what users see of pending jobs. A job behind another one of its FIFO queue names
// the job that is first now, not the one that was first when it was asked.
//
// One owner thread.
#pragma once

#include <map>

#include "engine/snapshot.h"

namespace tephra {

class CurrentStandings {
 public:
  // `books` outlives it, and does not change.
  explicit CurrentStandings(const Books& books) : books_(books) {}

  // The first call for a job behind another one costs as much as there are pending jobs.
  Standing Of(JobId id);

 private:
  void FindFirst();

  const Books& books_;
  bool found_ = false;
  std::map<QueueId, const JobRow*> first_;  // of FIFO queues: the job that was asked for itself
};

}  // namespace tephra
