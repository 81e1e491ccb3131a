#include "topology/links_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace tephra {
namespace {

using Words = std::vector<std::string>;

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool IsLetter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// The words of a line, without escapes such as ESC [ 4 m. Any white space separates columns,
// because the tabs of nvidia-smi do not survive copying, and its rows have more tabs than its
// header.
Words WordsOf(std::string_view line) {
  Words words(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      while (i + 1 < line.size() && !IsLetter(line[i])) ++i;
    } else if (!IsSpace(line[i])) {
      words.back() += line[i];
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// The digits as a number of at most `most`, or none.
std::optional<int> Number(std::string_view digits, int most) {
  int number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  const bool whole = error == std::errc() && stop == end && !digits.empty() && number >= 0;
  return whole && number <= most ? std::optional<int>(number) : std::nullopt;
}

// "GPU7" is 7. Other words, such as "NIC0" or "mlx5_0", are no GPUs.
std::optional<int> GpuNumber(std::string_view word) {
  if (word.substr(0, 3) != "GPU") return std::nullopt;
  return Number(word.substr(3), 9999);
}

std::optional<Link> LinkOf(std::string_view word, std::string_view model) {
  static constexpr struct {
    std::string_view name;
    LinkType type;
  } kPaths[] = {{"SYS", LinkType::kSys},   {"SOC", LinkType::kSys},  // SOC until driver 384
                {"NODE", LinkType::kNode}, {"PHB", LinkType::kPhb},
                {"PXB", LinkType::kPxb},   {"PIX", LinkType::kPix}};
  for (const auto& path : kPaths) {
    if (word == path.name) return PcieLink(path.type);
  }
  if (word.substr(0, 2) != "NV") return std::nullopt;
  const std::optional<int> nvlinks = Number(word.substr(2), 255);
  return nvlinks.value_or(0) > 0 ? std::optional<Link>(NvLink(*nvlinks, model)) : std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string_view model) : model_(model) {}

  absl::StatusOr<NodeLinks> Read(std::string_view text) {
    while (!text.empty() && !Complete()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      TEPHRA_RETURN_IF_ERROR(ReadLine(WordsOf(text.substr(0, end))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (columns_.empty()) return absl::InvalidArgumentError("no line has the header GPU0 GPU1 ...");
    for (std::size_t gpu = 0; gpu < seen_.size(); ++gpu) {
      if (!seen_[gpu]) return Bad(GpuName(gpu), "", "expected a row of this GPU");
    }
    return links_;
  }

 private:
  static std::string GpuName(std::size_t gpu) { return "GPU" + std::to_string(gpu); }

  bool Complete() const {
    return !seen_.empty() && std::find(seen_.begin(), seen_.end(), false) == seen_.end();
  }

  absl::Status Bad(const std::string& column, std::string_view value, const char* what) const {
    std::string shown;
    for (char c : value.substr(0, 60)) {
      shown += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
    }
    return absl::InvalidArgumentError("line " + std::to_string(line_) + ", column " + column +
                                      ": \"" + shown + "\", " + what);
  }

  absl::Status ReadLine(const Words& words) {
    if (words.empty()) return absl::OkStatus();
    if (columns_.empty()) {
      const bool is_header = words[0] == "GPU0" && (words.size() == 1 || words[1] != "X");
      return is_header ? ReadHeader(words) : absl::OkStatus();
    }
    const auto row = std::find(columns_.begin(), columns_.end(), words[0]);
    if (row == columns_.end()) return Bad("1", words[0], "expected a device of the header");
    const std::optional<int> gpu = GpuNumber(words[0]);
    return gpu ? ReadRow(static_cast<std::size_t>(*gpu), words) : absl::OkStatus();
  }

  // Devices, then up to three columns with names of several words.
  absl::Status ReadHeader(const Words& words) {
    std::size_t at = 0;
    for (; at < words.size() && words[at] != "CPU" && words[at] != "NUMA"; ++at) {
      const std::optional<int> gpu = GpuNumber(words[at]);
      if (gpu && static_cast<std::size_t>(*gpu) != seen_.size()) {
        return Bad(std::to_string(at + 1), words[at], "expected GPUs in order from GPU0 on");
      }
      columns_.push_back(words[at]);
      if (gpu) seen_.push_back(false);
    }
    if (seen_.size() > kMaxLinkedGpus) {
      return Bad(GpuName(kMaxLinkedGpus), columns_.back(), "expected at most 16 GPUs");
    }
    static const Words kTails[] = {
        {"CPU", "Affinity"}, {"NUMA", "Affinity"}, {"GPU", "NUMA", "ID"}};
    for (const Words& tail : kTails) {
      const std::size_t left = words.size() - at;
      if (left < tail.size() ||
          !std::equal(tail.begin(), tail.end(), words.begin() + static_cast<std::ptrdiff_t>(at))) {
        continue;
      }
      if (tail[0] == "NUMA") numa_tail_ = tails_;
      ++tails_;
      at += tail.size();
    }
    if (at < words.size()) return Bad(std::to_string(at + 1), words[at], "expected no such column");
    links_ = NodeLinks(static_cast<int>(seen_.size()));
    return absl::OkStatus();
  }

  absl::Status ReadRow(std::size_t gpu, const Words& words) {
    if (seen_[gpu]) return Bad("1", words[0], "expected one row of each GPU");
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c + 1 >= words.size()) return Bad(columns_[c], "", "expected a link");
      const std::optional<int> other = GpuNumber(columns_[c]);
      if (other) {
        TEPHRA_RETURN_IF_ERROR(ReadCell(gpu, static_cast<std::size_t>(*other), words[c + 1]));
      }
    }
    seen_[gpu] = true;
    return ReadNuma(
        gpu, Words(words.begin() + 1 + static_cast<std::ptrdiff_t>(columns_.size()), words.end()));
  }

  absl::Status ReadCell(std::size_t gpu, std::size_t other, const std::string& word) {
    if (gpu == other) {
      return word == "X" ? absl::OkStatus() : Bad(GpuName(other), word, "expected X");
    }
    const std::optional<Link> link = LinkOf(word, model_);
    if (!link) {
      return Bad(GpuName(other), word, "expected NV1 and so on, PIX, PXB, PHB, NODE or SYS");
    }
    const int a = static_cast<int>(gpu), b = static_cast<int>(other);
    links_.Set(a, b, seen_[other] ? std::min(*link, links_.at(a, b)) : *link);
    return absl::OkStatus();
  }

  // Blank cells make columns ambiguous, so the NUMA node is unknown then. It is also unknown for
  // "N/A" and for several nodes ("0-1").
  absl::Status ReadNuma(std::size_t gpu, const Words& tail) {
    if (tail.size() > tails_) return Bad("after the last", tail[tails_], "expected no more cells");
    if (!numa_tail_ || tail.size() < tails_) return absl::OkStatus();
    const std::string& word = tail[*numa_tail_];
    if (word == "N/A" || word.find_first_not_of("0123456789,-") == std::string::npos) {
      const std::optional<int> node = Number(word, 0x7fff);
      if (node) links_.SetNuma(static_cast<int>(gpu), static_cast<std::int16_t>(*node));
      return absl::OkStatus();
    }
    return Bad("NUMA Affinity", word, "expected NUMA nodes or N/A");
  }

  std::string_view model_;
  int line_ = 0;
  Words columns_;           // the devices of the header
  std::vector<bool> seen_;  // by GPU: its row was read
  std::size_t tails_ = 0;   // columns after the devices
  std::optional<std::size_t> numa_tail_;
  NodeLinks links_;
};

}  // namespace

absl::StatusOr<NodeLinks> ParseLinks(std::string_view text, std::string_view model) {
  return Reader(model).Read(text);
}

}  // namespace tephra
