// QuotaSearch: how much larger queue limits must be, and how much of other queues' guarantees must
// be lent, so that a job starts.
//
// Uses the Scratch of the caller and has no state of its own beside it. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/explain/scratch.h"

namespace tephra {

class QuotaSearch {
 public:
  explicit QuotaSearch(Scratch& scratch) : scratch_(scratch) {}

  // The result of a list of changes after quotas in the way were raised.
  struct Outcome {
    bool starts = false;
    bool unknown = false;
    std::vector<Change> changes;
    Scratch::Result last;  // if the job does not start
  };
  enum class May { kRaiseLimits, kRaiseLimitsAndLend };
  // Raises each quota that the reason names by what is missing, until the job starts or something
  // else is in the way.
  Outcome Run(std::vector<Change> changes, May may);

  // Makes each amount as small as possible while the other changes stay as they are.
  // REQUIRES: the job starts with these changes.
  Relaxation Trimmed(Outcome outcome);

 private:
  bool Raise(const Reason& reason, May may, std::vector<Change>& changes) const;
  std::int64_t Smallest(const std::vector<Change>& changes, std::size_t at, bool& proven);

  Scratch& scratch_;
};

}  // namespace tephra
