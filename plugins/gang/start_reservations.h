// StartReservations: the starts at a later time that a pass reserves for gangs that do not start
// now, and what it may start beside them. Without a reservation plan it does nothing.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "engine/cycle.h"
#include "plugins/gang/limit_turns.h"

namespace tephra {

class StartReservations {
 public:
  explicit StartReservations(Cycle& cycle) : cycle_(cycle), limit_turns_(cycle) {
    for (const JobId id : cycle.standing()) Count(cycle.snapshot().job(id).queue);
  }

  // Whether the job is to be tried after the jobs that may have a reservation, by how long it runs.
  bool TriedLast(JobId id) const;

  // Of what `place` answers for the gang: if it is placed, that no reservation starts
  // later for it. Else that it is not placed, and Delay says why.
  template <class Place>
  Placer::Answer Undelayed(const GangAsk& ask, Place place) {
    late_ = JobId();
    at_limit_.reset();
    if (KeepsLimits()) limit_turns_.Begin(ask.queue);
    const std::size_t mark = cycle_.now().ledger().mark();
    Placer::Answer answer = place();
    if (answer.outcome != Placer::Outcome::kPlaced || !Delays(ask, mark)) return answer;
    answer.outcome = Placer::Outcome::kImpossible;
    return answer;
  }
  // The gang that would have started later for the gang that was placed last.
  std::optional<Reason> Delay() const;

  // Whether the gang that comes first in the queue would start later, because of a limit, if this one took what
  // it needs: from now on, or once evictions have made room.
  std::optional<Reason> DelayAtLimit(const GangAsk& ask);

  // Charges the gang where its start is reserved, now that the time has come and it has room
  // there: elsewhere it might be in the way of other reservations.
  bool PlaceAsReserved(const GangAsk& ask);

  enum class Given {
    kYes,
    kMayNotHave,  // none of its line may have one
    kNoTime,      // neither it nor a gang of its line that runs longer finds a time
  };
  // Reserves a start to a gang that does not start now, where it may have one; nothing said where
  // that is what was said before. Else the answer is still no, and says why there is no time.
  Given Give(const GangAsk& ask, Verdict verdict, Reason& reason,
             std::optional<Decision>& decision);

  // Whether no other gang may have a reservation, of whichever queue.
  bool AllGiven() const;
  // Whether the job may have one beside the ones given so far.
  bool MayGet(JobId id) const { return cycle_.reservation_plan() != nullptr && MayHave(id); }
  // Tells the line in which queues no other gang may have a reservation, if it does not know yet.
  void CloseFull(Line& line);

  // Decides again on jobs whose reservation has moved since the last plan.
  void TellMoved();

 private:
  bool Delays(const GangAsk& ask, std::size_t mark);
  bool MayHave(JobId id) const;
  bool IsOwnQuota(const Reason& reason) const;
  void Count(QueueId queue) {
    ++given_;
    ++given_in_[queue];
    counted_.push_back(queue);
  }

  Reason ReasonOf(const LimitTurns::Late& late) const;
  bool KeepsLimits() const;

  Cycle& cycle_;
  LimitTurns limit_turns_;
  JobId late_;
  std::optional<LimitTurns::Late> at_limit_;
  // How many starts are reserved, in all and of each queue.
  std::int32_t given_ = 0;
  std::map<QueueId, std::int32_t> given_in_;
  std::vector<QueueId> counted_;  // since the last CloseFull
  bool closed_ = false;           // by CloseFull, all queues
};

}  // namespace tephra
