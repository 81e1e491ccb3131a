// Usage: what each queue, and each user in it, has held over time. Older use counts for less: half
// of it after each half-life (Slurm: PriorityDecayHalfLife).
//
// An account is a value and the time it is of. It is brought up to date when what it holds changes,
// so that the cost grows with the change and not with the number of accounts. What is learnt
// between two cycles counts from the later one on, for facts have no time of their own.
//
// The same on every machine: sums, products and quotients of doubles. One owner thread.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topology/base/ids.h"
#include "topology/base/time.h"
#include "topology/resources.h"

namespace tephra {

// What is left of 1 after `half_lives` of them, and what is gone. REQUIRES: half_lives >= 0.
struct Decay {
  explicit Decay(double half_lives);
  double kept = 1;
  double lost = 0;  // exact where little is lost, as 1 - kept is not
};

// By kind, in the unit of Resources times milliseconds.
using Spent = std::array<double, kMaxKinds>;

struct Account {
  Resources holds;
  Resources coming;  // what it holds more, or less, from the next cycle on
  Spent spent{};
  TimeMs at = 0;
};

class Usage {
 public:
  struct Row {
    Account own;  // of the queue, without the queues under it
    std::map<std::string, Account> users;
  };

  // 0: off; then nothing is kept, and all that was is forgotten.
  void SetHalfLife(DurationMs half_life_ms);
  bool on() const { return half_life_ms_ > 0; }
  DurationMs half_life_ms() const { return half_life_ms_; }
  // An account that has held one unit ever since has spent that much of it.
  double endless_ms() const;

  // The queue's jobs of that user (empty: of no user in particular) hold more, or less, from the
  // next Advance or Apply on. REQUIRES: on.
  void Hold(QueueId queue, const std::string& user, const Resources& more);
  // A cycle begins; time does not go back. Nothing is spent before the first one.
  void Advance(TimeMs now);
  // What was said since the cycle began is its own doing, and counts from now() on.
  void Apply();
  bool begun() const { return begun_; }
  TimeMs now() const { return now_; }

  // Brings all accounts up to date and drops accounts that hold nothing and have as good as nothing
  // left. False, and nothing is done, where the last time was too short a while ago (a hundredth of
  // the half-life, but 10 s to 10 min) or nothing was held since.
  bool Sweep();

  // What an earlier engine remembered: forgets all that was spent and awaits Recall of each
  // account, as of `at`. False, and nothing is forgotten, where that is no later than what is known
  // here.
  bool BeginRecall(TimeMs at);
  void Recall(QueueId queue, const Spent& spent);
  void Recall(QueueId queue, const std::string& user, const Spent& spent);
  // Of when the memory is that was recalled before the first cycle, if one was.
  std::optional<TimeMs> recalled_at() const { return recalled_at_; }
  // Something without an account of its own held that much from then until now().
  void Spend(QueueId queue, const std::string& user, const Resources& held, TimeMs from);

  // As of now().
  Spent Of(QueueId queue) const;
  Spent Of(QueueId queue, const std::string& user) const;
  const std::vector<Row>& rows() const { return rows_; }  // by QueueId

 private:
  void Settle(Account& account) const;
  void Enter(Account& account, const Spent& spent) const;
  Row& RowAt(QueueId queue);

  DurationMs half_life_ms_ = 0;
  bool begun_ = false;
  TimeMs now_ = 0;
  TimeMs swept_at_ = 0;
  std::optional<TimeMs> recalled_at_;
  bool touched_ = false;  // something was held since the last sweep
  std::vector<Row> rows_;
  std::vector<std::pair<QueueId, std::string>> coming_;  // accounts that have something coming
};

}  // namespace tephra
