// Promises: what a pass tells gangs that wait of when they start, and what it may start beside
// that. Where nobody is promised anything it stands aside.
#pragma once

#include <map>
#include <optional>

#include "plugins/framework/action.h"

namespace tephra {

class Promises {
 public:
  explicit Promises(Cycle& cycle) : cycle_(cycle) {
    for (const JobId id : cycle.standing) Count(cycle.snapshot.job(id).queue);
  }

  // Whether the job is to be tried after those that may have a promise, by how long it runs.
  bool TriedLast(JobId id) const;

  // Of what `place` answers for the gang: if it is placed, that nobody who has a promise starts
  // later for it. Else that it is not placed, and Delay says why.
  template <class Place>
  Placer::Answer Undelayed(const GangAsk& ask, Place place) {
    late_ = JobId();
    const std::size_t mark = cycle_.now.ledger().mark();
    Placer::Answer answer = place();
    if (answer.outcome != Placer::Outcome::kPlaced || !Delays(ask, mark)) return answer;
    answer.outcome = Placer::Outcome::kImpossible;
    return answer;
  }
  // Who would have started later for the gang that was placed last.
  std::optional<Reason> Delay() const;

  // Charges the gang where it was promised a start, now that the time has come and it has room
  // there: elsewhere it might be in the way of others with a promise.
  bool PlaceAsPromised(const GangAsk& ask);

  // Promises a start to a gang that does not start now, where it may have one; nothing said where
  // that is what it was told before. False: it is still to be told no, and why there is no time.
  bool Give(const GangAsk& ask, Verdict verdict, Reason& reason, std::optional<Decision>& decision);

  // Says of those whose promise has moved since they were told of it where they start now.
  void TellMoved();

  // REQUIRES: the decision is charged.
  void Follow(const Decision& decision) {
    if (cycle_.agenda != nullptr) cycle_.agenda->Follow(decision);
  }

 private:
  bool Delays(const GangAsk& ask, std::size_t mark);
  bool MayHave(JobId id) const;
  void Count(QueueId queue) {
    ++given_;
    ++given_in_[queue];
  }

  Cycle& cycle_;
  JobId late_;
  // How many are promised a start, in all and of each queue.
  std::int32_t given_ = 0;
  std::map<QueueId, std::int32_t> given_in_;
};

}  // namespace tephra
