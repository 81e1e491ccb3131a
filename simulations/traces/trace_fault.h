// TraceFault: one faulty line of a trace. Faults are reported and counted, and most faulty lines
// are skipped.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "topology/base/status.h"

namespace tephra {

enum class TraceFaultKind {
  kMissingField,      // fewer fields than the format has
  kExtraField,        // more
  kNoNumber,          // a number was expected
  kOutOfRange,        // an impossible number, such as a negative time
  kNoSize,            // no, or an unknown number of, processors, nodes or GPUs
  kBadName,           // empty although required, or with control characters
  kCut,               // the last line has no line end: the file may be truncated
  kPart,              // a part of a job that has a line of its own (SWF, status 2 to 4)
  kBackInTime,        // submitted before a job of an earlier line
  kTooLarge,          // for the machine
  kUnknownQueue,      // not a queue of the machine
  kUnknownPartition,  // not a partition of the machine
  kOverRequested,     // ran longer than requested
};
constexpr std::size_t kTraceFaultKinds = 13;

// "missing-field" and so on, also the key in JSON.
const char* TraceFaultName(TraceFaultKind kind);

struct TraceFault {
  TraceFaultKind kind = TraceFaultKind::kMissingField;
  int line = 0;       // from 1
  std::string field;  // empty: the line
  std::string value, expected;
  bool skipped = true;  // false: it is reported, and the job is used
};

// INVALID_ARGUMENT in the one shape of such errors (base/bad_input.h).
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

// The part of a trace that was read.
struct TraceReading {
  std::int64_t records = 0;  // lines with a job or a fault
  TraceFaultCounts faults;
};

}  // namespace tephra
