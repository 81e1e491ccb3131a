#include "text/format.h"

#include <algorithm>
#include <cstdio>

namespace tephra {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes a run of digits, without leading zeros, off the front.
std::string_view TakeDigits(std::string_view& text) {
  const std::size_t from = std::min(text.find_first_not_of('0'), text.size());
  std::size_t end = from;
  while (end < text.size() && IsDigit(text[end])) ++end;
  const std::string_view digits = text.substr(from, end - from);
  text.remove_prefix(end);
  return digits;
}

}  // namespace

std::string Fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string Decimal(std::int64_t amount, std::int64_t unit) {
  if (amount % unit == 0) return std::to_string(amount / unit);
  std::string text = Fixed(static_cast<double>(amount) / static_cast<double>(unit), 3);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string DurationText(DurationMs duration) {
  const std::int64_t seconds = duration / 1000;
  char text[64];
  if (duration < 1000) {
    std::snprintf(text, sizeof text, "%lldms", static_cast<long long>(duration));
  } else if (seconds < 60) {
    return Decimal(duration, 1000) + "s";
  } else if (seconds < 3600) {
    std::snprintf(text, sizeof text, "%lldm%02llds", static_cast<long long>(seconds / 60),
                  static_cast<long long>(seconds % 60));
  } else {
    std::snprintf(text, sizeof text, "%lldh%02lldm", static_cast<long long>(seconds / 3600),
                  static_cast<long long>(seconds / 60 % 60));
  }
  return duration == 0 ? "0s" : text;
}

void AppendSeconds(TimeMs time, std::string& out) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(time / 1000),
                static_cast<long long>(time % 1000));
  out += text;
}

void AppendCsv(std::string_view field, std::string& out) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    out += c;
    if (c == '"') out += c;
  }
  out += '"';
}

bool NameBefore(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a[0]) && IsDigit(b[0])) {
      const std::string_view left = TakeDigits(a), right = TakeDigits(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      continue;
    }
    if (a[0] != b[0]) return a[0] < b[0];
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

}  // namespace tephra
