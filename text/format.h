// Numbers, times and CSV fields as text, the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "topology/base/time.h"

namespace tephra {

// amount / unit with at most three decimals, trailing zeros left out: Decimal(2500, 1000) is "2.5".
std::string Decimal(std::int64_t amount, std::int64_t unit);
// With this many decimals.
std::string Fixed(double value, int decimals);
// "1h02m", "3m20s", "12.5s", "40ms".
std::string DurationText(DurationMs duration);
// Seconds with three decimals.
void AppendSeconds(TimeMs time, std::string& out);
// Quoted if RFC 4180 requires it.
void AppendCsv(std::string_view field, std::string& out);
// Natural order of names: runs of digits compare as numbers, so "n-2" is before "n-10".
bool NameBefore(std::string_view a, std::string_view b);

}  // namespace tephra
