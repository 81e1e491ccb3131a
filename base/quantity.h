// Amounts and times in text: Kubernetes quantities ("500m", "64Gi", "2") and
// durations ("30s", "1h30m").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "topology/base/time.h"

namespace tephra {

// The largest amount of anything in one field; 9,223 of them still sum up within 64 bits.
constexpr std::int64_t kMostQuantity = 1'000'000'000'000'000;

// The quantity times `per`, rounded up as Kubernetes does: per 1000 gives milli-cores, per 1
// bytes. Suffixes n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or a decimal exponent. Nothing if
// the text is no quantity, is negative or exceeds kMostQuantity.
std::optional<std::int64_t> ParseQuantity(std::string_view text, std::int64_t per);

// Whole or decimal numbers with ms, s, m, h or d, one after another; "0" alone needs no unit.
// Nothing if the text is no duration, or longer than a hundred years.
std::optional<DurationMs> ParseDuration(std::string_view text);

// A whole number in decimal digits, with a sign or not.
std::optional<std::int64_t> ParseWhole(std::string_view text);

}  // namespace tephra
