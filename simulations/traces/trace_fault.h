// TraceFault: what is wrong with one line of a trace, so that it can be told, counted and skipped.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "topology/base/status.h"

namespace tephra {

enum class TraceFaultKind {
  kMissingField,      // fewer fields than the form has
  kExtraField,        // more
  kNoNumber,          // a number was expected
  kOutOfRange,        // a number that cannot be there, as a time below 0
  kNoSize,            // no processors, nodes or GPUs, or not known how many
  kBadName,           // empty where it must not be, or with control characters
  kCut,               // the last line has no end: the file may have been cut
  kPart,              // a part of a job that has a line of its own (SWF, status 2 to 4)
  kBackInTime,        // submitted before a job of an earlier line
  kTooLarge,          // for the machine
  kUnknownQueue,      // not among those that were told
  kUnknownPartition,  // the machine has no such part
  kOverRequested,     // ran longer than was requested
};
constexpr std::size_t kTraceFaultKinds = 13;

// "missing-field" and so on, also the key in JSON.
const char* TraceFaultName(TraceFaultKind kind);

struct TraceFault {
  TraceFaultKind kind = TraceFaultKind::kMissingField;
  int line = 0;       // from 1
  std::string field;  // empty: the line
  std::string value, expected;
  bool skipped = true;  // false: it is told, and the job is given as well
};

// INVALID_ARGUMENT in the one shape of such errors (text/bad_input.h).
absl::Status FaultStatus(const std::string& path, const TraceFault& fault);

class TraceFaultCounts {
 public:
  struct Count {
    std::int64_t times = 0, skipped = 0;
    TraceFault first;
  };
  void Add(const TraceFault& fault);
  const Count& of(TraceFaultKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::int64_t skipped() const { return skipped_; }
  bool any() const { return any_; }

 private:
  std::array<Count, kTraceFaultKinds> counts_;
  std::int64_t skipped_ = 0;
  bool any_ = false;
};

// How far a trace was read.
struct TraceReading {
  std::int64_t records = 0;  // lines that are a job or should be one
  TraceFaultCounts faults;
};

}  // namespace tephra
