#include "base/bad_input.h"

#include <algorithm>
#include <numeric>

namespace tephra {
namespace {

std::size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

std::string Quoted(std::string_view value) {
  constexpr std::size_t kShown = 60;
  constexpr char kHex[] = "0123456789abcdef";
  std::string text = "\"";
  for (std::size_t i = 0; i < std::min(value.size(), kShown); ++i) {
    const auto byte = static_cast<unsigned char>(value[i]);
    if (byte >= 0x20 && byte < 0x7f) {
      text += value[i];
    } else {
      text += "\\x";
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
  }
  return text.append(value.size() > kShown ? "...\"" : "\"");
}

absl::Status BadInput(const std::string& file, int line, const std::string& field,
                      std::string_view value, const std::string& expected) {
  std::string text = file;
  if (line > 0) text.append(":").append(std::to_string(line));
  if (!field.empty()) text.append(": ").append(field);
  text.append(": ").append(Quoted(value)).append(", expected ").append(expected);
  return absl::InvalidArgumentError(text);
}

std::string NearestWord(const std::string& word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > 60) return "";
  // Twice the number of edits, plus one if the first letter differs: typos there are rare.
  std::size_t least = 6;
  const std::string* nearest = nullptr;
  for (const std::string& candidate : known) {
    const std::size_t edits = EditDistance(word, candidate);
    const std::size_t distance = 2 * edits + (candidate[0] == word[0] ? 0 : 1);
    if (distance >= least || edits >= candidate.size()) continue;
    least = distance;
    nearest = &candidate;
  }
  if (nearest == nullptr) return "";
  return std::string(", did you mean ").append(Quoted(*nearest)).append("?");
}

}  // namespace tephra
