#include "simulations/traces/trace_row.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace tephra {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string_view NextField(std::string_view text, char separator, std::size_t& at) {
  if (separator == ' ') {
    while (at < text.size() && IsBlank(text[at])) ++at;
    if (at >= text.size()) return {};
    const std::size_t from = at;
    while (at < text.size() && !IsBlank(text[at])) ++at;
    return text.substr(from, at - from);
  }
  if (at > text.size()) return {};
  const std::size_t from = at;
  const std::size_t end = std::min(text.find(separator, from), text.size());
  at = end + 1;
  return text.substr(from, end - from);
}

TraceRow::TraceRow(std::vector<std::string> names, char separator)
    : names_(std::move(names)), separator_(separator), fields_(names_.size()) {}

bool TraceRow::Cut(std::string_view text, int line) {
  line_ = line;
  std::size_t at = 0, count = 0;
  for (std::string_view field; (field = NextField(text, separator_, at)).data() != nullptr;) {
    if (count < fields_.size()) fields_[count] = field;
    ++count;
  }
  if (count == fields_.size()) return true;
  const bool fewer = count < fields_.size();
  fault_ = {fewer ? TraceFaultKind::kMissingField : TraceFaultKind::kExtraField, line_,
            fewer ? names_[count] : "", std::string(text),
            std::to_string(fields_.size()) + " fields, found " + std::to_string(count)};
  return false;
}

bool TraceRow::Wrong(TraceFaultKind kind, std::size_t field, std::string expected) {
  fault_ = {kind, line_, names_[field], std::string(fields_[field]), std::move(expected)};
  return false;
}

bool TraceRow::Name(std::size_t field, std::string& out) {
  const std::string_view text = fields_[field];
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  if (text.empty() || std::any_of(text.begin(), text.end(), is_control)) {
    return Wrong(TraceFaultKind::kBadName, field, "a name");
  }
  out.assign(text);
  return true;
}

bool TraceRow::Whole(std::size_t field, std::int64_t least, std::int64_t most, std::int64_t& out) {
  const std::string_view text = fields_[field];
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool whole = end == text.data() + text.size() && !text.empty();
  if (whole && error == std::errc() && out >= least && out <= most) return true;
  const bool number = whole && error != std::errc::invalid_argument;
  return Wrong(number ? TraceFaultKind::kOutOfRange : TraceFaultKind::kNoNumber, field,
               "a whole number from " + std::to_string(std::max<std::int64_t>(least, 0)) + " to " +
                   std::to_string(most) + (least == kNotKnown ? ", or -1" : ""));
}

bool TraceRow::Time(std::size_t field, DurationMs unit_ms, bool may_lack, TimeMs& out) {
  const std::string_view text = fields_[field];
  std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const bool negative = at == 1;
  std::int64_t units = 0;
  const std::size_t from = at;
  bool small = true;
  for (; at < text.size() && IsDigit(text[at]); ++at) {
    small = small && units <= kMostTime;
    if (small) units = units * 10 + (text[at] - '0');
  }
  bool number = at > from;
  // Digits below a millisecond are ignored.
  std::int64_t parts = 0;
  if (number && at < text.size() && text[at] == '.') {
    DurationMs scale = unit_ms;
    const std::size_t point = at++;
    for (; at < text.size() && IsDigit(text[at]); ++at) {
      scale /= 10;
      parts += (text[at] - '0') * scale;
    }
    number = at > point + 1;
  }
  number = number && at == text.size();
  const auto fault = [&](TraceFaultKind kind) {
    return Wrong(
        kind, field,
        std::string("a time of at least 0 and at most 317 years") + (may_lack ? ", or -1" : ""));
  };
  if (!number) return fault(TraceFaultKind::kNoNumber);
  if (negative && may_lack && units == 1 && parts == 0) return out = kNotKnown, true;
  if (negative && (units != 0 || parts != 0)) return fault(TraceFaultKind::kOutOfRange);
  if (!small || units > kMostTime / unit_ms) return fault(TraceFaultKind::kOutOfRange);
  out = units * unit_ms + parts;
  return true;
}

}  // namespace tephra
