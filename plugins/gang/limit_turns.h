// LimitTurns: EASY backfilling within the limit of a queue. A gang that comes first among the pending jobs
// of its queue may find room, but not within a limit of its queue or of a queue above. Jobs behind it may
// start only if they do not delay the time at which the limit has enough left for the gang. No room is
// reserved. Source: Lifka, JSSPP 1995, with the limit in place of the machine.
//
// All is derived from the Snapshot and from what the cycle decided so far. Part of one cycle; one owner
// thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "engine/cycle.h"

namespace tephra {

class LimitTurns {
 public:
  explicit LimitTurns(Cycle& cycle) : cycle_(cycle), snapshot_(cycle.snapshot()) {}

  struct Late {
    JobId ahead;
    QueueId level;  // whose limit stops it
    TimeMs at;      // when the limit has enough left for it
  };
  // Finds the gang that comes first in the queue. REQUIRES: on the ledger of now, nothing is tried for a job.
  void Begin(QueueId queue);
  // The gang that would start later if the job took that much from now on. REQUIRES: Begin with the queue of the job,
  // before it was charged.
  std::optional<Late> Delays(JobId id, const Resources& taken) const;

 private:
  struct Turn {
    JobId job;
    Resources least;  // what it needs
    QueueId level;
    TimeMs at = 0;
    Resources spare;  // at that time, beside what the job needs
  };

  std::optional<Turn> TurnIn(QueueId queue);
  JobId FirstIn(QueueId queue);
  bool HadItsTurn(JobId id) const;
  bool MayCome(JobId id);
  // The first level whose limit stops it, and is below what the cluster has; invalid: there is none. With a higher
  // limit the gang waits for room, and may have a reservation.
  QueueId StoppedAt(QueueId queue, const Resources& least) const;
  bool FindTime(Turn& turn) const;

  struct Known {
    std::size_t mark = 0;  // of the ledger of now
    std::optional<Turn> turn;
  };

  Cycle& cycle_;
  const Snapshot& snapshot_;
  std::map<QueueId, Known> known_;
  std::optional<std::map<QueueId, std::vector<JobId>>> in_turn_;  // where jobs stand in no line
};

}  // namespace tephra
