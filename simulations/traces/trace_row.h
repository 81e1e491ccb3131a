// TraceRow: a line of a trace, split into fields. A field that cannot be read is a fault.
//
// Unlike CsvReader, it does not support quotes, so a faulty line never affects the next line. No
// format here needs quotes. One owner thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulations/traces/trace_fault.h"
#include "simulations/traces/trace_job.h"

namespace tephra {

class TraceRow {
 public:
  static constexpr std::int64_t kMostWhole = 1'000'000'000;  // 2^63 over it squared is 9
  static constexpr TimeMs kMostTime = 10'000'000'000'000;    // 317 years
  static constexpr std::int64_t kMostKib = 1'000'000'000'000'000;

  // `names` of the fields in their order. Separator ' ': any run of blanks and tabs.
  TraceRow(std::vector<std::string> names, char separator);

  // Splits the line, which must outlive the calls below; false if the number of fields is wrong.
  bool Cut(std::string_view text, int line);

  // Each sets `out`, or returns false and sets the fault. REQUIRES: Cut() returned true.
  bool Name(std::size_t field, std::string& out);
  // A number from `least` to `most`. If `least` is kNotKnown, -1 is also valid.
  bool Whole(std::size_t field, std::int64_t least, std::int64_t most, std::int64_t& out);
  // A time in units of that many ms, with or without decimals, rounded down. -1 gives kNotKnown
  // where `may_lack`.
  bool Time(std::size_t field, DurationMs unit_ms, bool may_lack, TimeMs& out);

  std::string_view operator[](std::size_t field) const { return fields_[field]; }
  // Sets the fault with the value of the field, and returns false.
  bool Wrong(TraceFaultKind kind, std::size_t field, std::string expected);

  const TraceFault& fault() const { return fault_; }
  int line() const { return line_; }

 private:
  std::vector<std::string> names_;
  char separator_;
  std::vector<std::string_view> fields_;
  int line_ = 0;
  TraceFault fault_;
};

// The next field of `text` from position `at`, which moves past it. Without a next field, the
// result is empty and its data() is null.
std::string_view NextField(std::string_view text, char separator, std::size_t& at);

}  // namespace tephra
