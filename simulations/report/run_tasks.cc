#include "simulations/report/run_tasks.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "base/bad_input.h"

namespace tephra {
namespace {

constexpr std::int32_t kMostDevice = 4095;

struct DevicePart {
  std::int32_t device = 0, share = 1000;
};

// "3" or "3:500m:10240Mi": a device, and the part of its compute.
std::optional<DevicePart> ParsePart(std::string_view text) {
  DevicePart part;
  const char* const end = text.data() + text.size();
  const auto [colon, bad_device] = std::from_chars(text.data(), end, part.device);
  if (bad_device != std::errc() || part.device < 0 || part.device > kMostDevice) {
    return std::nullopt;
  }
  if (colon == end) return part;
  if (*colon != ':') return std::nullopt;
  const auto [unit, bad_share] = std::from_chars(colon + 1, end, part.share);
  if (bad_share != std::errc() || unit == end || *unit != 'm') return std::nullopt;
  if (part.share < 0 || part.share > 1000) return std::nullopt;
  return part;
}

// Adjacent devices with equal shares become one bar.
std::optional<std::vector<RunFiles::Bar>> ParseDevices(std::string_view text) {
  std::vector<RunFiles::Bar> bars;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::optional<DevicePart> part = ParsePart(word);
    if (!part) return std::nullopt;
    const bool more = !bars.empty() && bars.back().first + bars.back().count == part->device &&
                      bars.back().share == part->share;
    if (more) {
      ++bars.back().count;
    } else {
      bars.push_back({.first = part->device, .count = 1, .share = part->share});
    }
  }
  return bars;
}

// The nodes as the summary lists them, with their GPUs; other nodes are added with their first
// task.
absl::Status ReadNodes(RunFiles& run, WordList& names) {
  for (const auto& node : run.summary["nodes"]) {
    if (!node.is_object() || !node.value("name", nlohmann::ordered_json()).is_string() ||
        !node.value("gpu_used_per_mille", nlohmann::ordered_json()).is_array()) {
      return BadInput(run.folder + "/summary.json", 0, "nodes", node.dump(),
                      "a list of nodes with name and gpu_used_per_mille");
    }
    const std::string name = node["name"].get<std::string>();
    if (names.Add(name) < run.nodes.size()) continue;
    run.nodes.push_back({name, static_cast<std::int32_t>(node["gpu_used_per_mille"].size())});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> CsvAmount(const CsvReader& csv, std::size_t column) {
  const absl::StatusOr<double> value = csv.Real(column);
  return value.ok() && *value >= 0 ? value : csv.Wrong(column, "a number of at least 0");
}

absl::StatusOr<std::optional<double>> CsvAmountIfAny(const CsvReader& csv, std::size_t column) {
  if (csv.Text(column).empty()) return std::optional<double>();
  TEPHRA_ASSIGN_OR_RETURN(const double value, CsvAmount(csv, column));
  return std::optional<double>(value);
}

absl::Status ReadTasks(RunFiles& run) {
  enum { kJob, kStart, kFinish, kNode, kDevices };
  TEPHRA_ASSIGN_OR_RETURN(CsvReader csv,
                          CsvReader::Open(run.folder + "/tasks.csv",
                                          {"job", "start_s", "finish_s", "node", "devices"}));
  WordList names;
  TEPHRA_RETURN_IF_ERROR(ReadNodes(run, names));
  std::unordered_map<std::string, std::uint32_t> jobs;
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    jobs.emplace(run.jobs[j].name, static_cast<std::uint32_t>(j));
  }
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const bool more, csv.Next());
    if (!more) return absl::OkStatus();
    const auto job = jobs.find(csv.Text(kJob));
    if (job == jobs.end()) return csv.Wrong(kJob, "the name of a job in jobs.csv");
    TEPHRA_ASSIGN_OR_RETURN(const auto start, CsvAmountIfAny(csv, kStart));
    TEPHRA_ASSIGN_OR_RETURN(const auto finish, CsvAmountIfAny(csv, kFinish));
    std::optional<std::vector<RunFiles::Bar>> bars = ParseDevices(csv.Text(kDevices));
    if (!bars) return csv.Wrong(kDevices, "devices such as \"0 1\" or \"3:500m:10240Mi\"");
    if (!start || csv.Text(kNode).empty() || bars->empty()) continue;
    const double length = finish.value_or(run.end_s) - *start;
    if (length < 0) return csv.Wrong(finish ? kFinish : kStart, "start_s before finish_s");
    const std::uint32_t node = names.Add(csv.Text(kNode));
    if (node == run.nodes.size()) run.nodes.push_back({csv.Text(kNode), 0});
    for (RunFiles::Bar& bar : *bars) {
      bar.job = job->second;
      bar.node = node;
      bar.start_s = *start;
      bar.length_s = length;
      run.nodes[node].gpus = std::max(run.nodes[node].gpus, bar.first + bar.count);
      run.bars.push_back(bar);
    }
  }
}

}  // namespace tephra
