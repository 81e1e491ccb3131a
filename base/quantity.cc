#include "base/quantity.h"

#include <charconv>
#include <utility>

namespace tephra {
namespace {

__extension__ using Wide = __int128;

constexpr Wide kTooMuch = Wide{1} << 100;

// digits / 10^decimals, as written.
struct Decimal {
  Wide digits = 0;
  int decimals = 0;
};

// Takes an unsigned decimal number of at most 18 digits off the front of the text.
std::optional<Decimal> TakeDecimal(std::string_view& text) {
  Decimal number;
  std::size_t i = 0;
  int digits = 0;
  bool point = false;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
      continue;
    }
    if (text[i] < '0' || text[i] > '9') break;
    if (++digits > 18) return std::nullopt;
    number.digits = number.digits * 10 + (text[i] - '0');
    number.decimals += point;
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(i);
  return number;
}

Wide PowerOfTen(int exponent) {
  Wide power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

// What a suffix multiplies by, as a fraction; 0 over 1 for an unknown one.
std::pair<Wide, Wide> Suffix(std::string_view text) {
  constexpr std::string_view kDecimal = "kMGTPE", kBinary = "KMGTPE", kSmall = "mun";
  if (text.empty()) return {1, 1};
  if (text.size() == 1) {
    const std::size_t up = kDecimal.find(text[0]), down = kSmall.find(text[0]);
    if (up != std::string_view::npos) return {PowerOfTen(3 * (static_cast<int>(up) + 1)), 1};
    if (down != std::string_view::npos) return {1, PowerOfTen(3 * (static_cast<int>(down) + 1))};
  }
  if (text.size() == 2 && text[1] == 'i') {
    const std::size_t up = kBinary.find(text[0]);
    if (up != std::string_view::npos) return {Wide{1} << (10 * (up + 1)), 1};
  }
  if (text[0] == 'e' || text[0] == 'E') {
    const auto exponent = ParseWhole(text.substr(1));
    if (exponent && *exponent >= -18 && *exponent <= 18) {
      const auto size = static_cast<int>(*exponent);
      return size >= 0 ? std::pair{PowerOfTen(size), Wide{1}}
                       : std::pair{Wide{1}, PowerOfTen(-size)};
    }
  }
  return {0, 1};
}

}  // namespace

std::optional<std::int64_t> ParseWhole(std::string_view text) {
  if (!text.empty() && text[0] == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text[0] == '-') return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> ParseQuantity(std::string_view text, std::int64_t per) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto number = TakeDecimal(text);
  if (!number) return std::nullopt;
  const auto [times, parts] = Suffix(text);
  if (times == 0) return std::nullopt;
  if (number->digits == 0) return 0;
  if (number->digits > kTooMuch / times / per) return std::nullopt;
  const Wide whole = number->digits * times * per;
  const Wide divisor = PowerOfTen(number->decimals) * parts;
  const Wide amount = (whole + divisor - 1) / divisor;
  if (amount > kMostQuantity) return std::nullopt;
  return static_cast<std::int64_t>(amount);
}

std::optional<DurationMs> ParseDuration(std::string_view text) {
  constexpr DurationMs kDay = 86'400 * kSecondMs, kMost = 36'525 * kDay;
  constexpr std::pair<std::string_view, DurationMs> kUnits[] = {
      {"ms", 1}, {"s", kSecondMs}, {"m", 60 * kSecondMs}, {"h", 3600 * kSecondMs}, {"d", kDay}};
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  Wide sum = 0;
  while (!text.empty()) {
    const auto number = TakeDecimal(text);
    if (!number) return std::nullopt;
    DurationMs unit = 0;
    for (const auto& [name, size] : kUnits) {
      if (unit != 0 || text.substr(0, name.size()) != name) continue;
      unit = size;
      text.remove_prefix(name.size());
    }
    if (unit == 0) return std::nullopt;
    sum += number->digits * unit / PowerOfTen(number->decimals);
    if (sum > kMost) return std::nullopt;
  }
  return static_cast<DurationMs>(sum);
}

}  // namespace tephra
