#include "simulations/traces/trace_fault.h"

#include <algorithm>

#include "base/bad_input.h"

namespace tephra {
namespace {

// A value may be a line of a megabyte; its beginning is enough to find the fault.
constexpr std::size_t kMostValue = 256;

}  // namespace

const char* TraceFaultName(TraceFaultKind kind) {
  static constexpr std::array<const char*, kTraceFaultKinds> kNames = {
      "missing-field", "extra-field", "no-number",     "out-of-range",
      "no-size",       "bad-name",    "cut",           "part",
      "back-in-time",  "too-large",   "unknown-queue", "unknown-partition",
      "over-requested"};
  return kNames[static_cast<std::size_t>(kind)];
}

absl::Status FaultStatus(const std::string& path, const TraceFault& fault) {
  return BadInput(path, fault.line, fault.field, fault.value, fault.expected);
}

void TraceFaultCounts::Add(const TraceFault& fault) {
  any_ = true;
  Count& count = counts_[static_cast<std::size_t>(fault.kind)];
  if (count.times++ == 0) {
    count.first = fault;
    count.first.value.resize(std::min(fault.value.size(), kMostValue));
  }
  if (!fault.skipped) return;
  ++count.skipped;
  ++skipped_;
}

}  // namespace tephra
