// TraceRow: a line of a trace cut into its fields; what a field cannot give is a fault.
//
// Unlike CsvReader's rows these know no quotes, so that a line that is wrong is that one line: the
// next can be read. No form here needs quotes. One owner thread.
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

  // Cuts the line, which outlives the questions below; false: it has more or fewer fields.
  bool Cut(std::string_view text, int line);

  // Each gives `out`, or false and the fault. Fields by their index, after Cut was true.
  bool Name(std::size_t field, std::string& out);
  // From `least` to `most`; a `least` of kNotKnown lets -1 pass, and nothing else below 0.
  bool Whole(std::size_t field, std::int64_t least, std::int64_t most, std::int64_t& out);
  // A number of units of so many ms, with decimals or not, rounded down. -1 gives kNotKnown where
  // `may_lack`.
  bool Time(std::size_t field, DurationMs unit_ms, bool may_lack, TimeMs& out);

  std::string_view operator[](std::size_t field) const { return fields_[field]; }
  // Makes the fault and returns false. The field's own value is told.
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

// Where the next field of `text` begins and ends, from `at`, which it moves behind it; an empty one
// with a null data() where there is none.
std::string_view NextField(std::string_view text, char separator, std::size_t& at);

}  // namespace tephra
