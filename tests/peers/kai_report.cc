#include "tests/peers/kai_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace tephra {
namespace {

struct Counts {
  int all = 0, same = 0, better = 0, differs = 0, excluded = 0, fails = 0;
};

Counts CountOf(const std::vector<KaiLine>& lines, const std::string& file) {
  Counts counts;
  for (const KaiLine& line : lines) {
    if (!file.empty() && line.file != file) continue;
    ++counts.all;
    if (line.verdict == KaiVerdict::kSame || line.verdict == KaiVerdict::kStale) ++counts.same;
    if (line.verdict == KaiVerdict::kBetter) ++counts.better;
    if (line.verdict == KaiVerdict::kDiffers) ++counts.differs;
    if (line.verdict == KaiVerdict::kExcluded) ++counts.excluded;
    if (line.verdict == KaiVerdict::kFails) ++counts.fails;
  }
  return counts;
}

std::string Row(const std::string& name, const Counts& counts) {
  std::string row = "| " + name + " |";
  for (const int count :
       {counts.all, counts.same, counts.better, counts.differs, counts.fails, counts.excluded}) {
    row += " " + std::to_string(count) + " |";
  }
  return row + "\n";
}

std::string Cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The cases of a verdict, a table for each reason.
std::string ByReason(const std::vector<KaiLine>& lines, KaiVerdict verdict) {
  std::vector<std::pair<std::string, std::vector<const KaiLine*>>> groups;
  for (const KaiLine& line : lines) {
    if (line.verdict != verdict) continue;
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == line.reason; });
    if (known != groups.end()) {
      known->second.push_back(&line);
    } else {
      groups.push_back({line.reason, {&line}});
    }
  }
  std::string text;
  for (const auto& [reason, cases] : groups) {
    text += "\n" + (reason.empty() ? std::string("No reason is written:") : reason + ":") + "\n\n";
    text += "| case | what | with us |\n|---|---|---|\n";
    for (const KaiLine* line : cases) {
      text += "| " + line->id + " | " + Cell(line->name) + " | " + Cell(line->difference) + " |\n";
    }
  }
  return text;
}

std::string Excluded(const std::vector<KaiLine>& lines) {
  std::map<std::string, std::string> ids;
  for (const KaiLine& line : lines) {
    if (line.verdict != KaiVerdict::kExcluded) continue;
    std::string& list = ids[line.reason];
    list += (list.empty() ? "" : ", ") + line.id;
  }
  std::string text = "| excluded because | cases |\n|---|---|\n";
  for (const auto& [reason, list] : ids) text += "| " + reason + " | " + list + " |\n";
  return text;
}

}  // namespace

const char* KaiVerdictText(KaiVerdict verdict) {
  switch (verdict) {
    case KaiVerdict::kSame:
      return "same";
    case KaiVerdict::kBetter:
      return "better";
    case KaiVerdict::kDiffers:
      return "differs";
    case KaiVerdict::kExcluded:
      return "excluded";
    case KaiVerdict::kFails:
      return "fails";
    case KaiVerdict::kStale:
      return "same, but a reason is written";
  }
  return "?";
}

std::string KaiText(const std::vector<KaiLine>& lines) {
  std::string text;
  for (const KaiLine& line : lines) {
    text += line.id + " | " + line.kind + " | " + KaiVerdictText(line.verdict) + " | " +
            line.difference + (line.reason.empty() ? "" : " | " + line.reason) + "\n";
  }
  const Counts all = CountOf(lines, "");
  return text + std::to_string(all.all) + " cases: " + std::to_string(all.same) + " the same, " +
         std::to_string(all.better) + " as good or better, " + std::to_string(all.differs) +
         " differ for a reason, " + std::to_string(all.fails) + " fail, " +
         std::to_string(all.excluded) + " are excluded\n";
}

std::string KaiJson(const std::vector<KaiLine>& lines) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const KaiLine& line : lines) {
    json.push_back({{"id", line.id},
                    {"name", line.name},
                    {"file", line.file},
                    {"kind", line.kind},
                    {"result", KaiVerdictText(line.verdict)},
                    {"difference", line.difference},
                    {"reason", line.reason}});
  }
  return json.dump(2) + "\n";
}

std::string KaiMarkdown(const std::vector<KaiLine>& lines) {
  std::vector<std::string> files;
  for (const KaiLine& line : lines) {
    if (std::find(files.begin(), files.end(), line.file) == files.end()) files.push_back(line.file);
  }
  std::string text =
      "| file | cases | same | as good or better | differ for a reason | fail | excluded |\n";
  text += "|---|---|---|---|---|---|---|\n";
  for (const std::string& file : files) text += Row(file, CountOf(lines, file));
  text += Row("all", CountOf(lines, ""));
  const Counts all = CountOf(lines, "");
  if (all.fails > 0) text += "\n## Fail\n" + ByReason(lines, KaiVerdict::kFails);
  if (all.better > 0) text += "\n## As good or better\n" + ByReason(lines, KaiVerdict::kBetter);
  if (all.differs > 0) text += "\n## Differ\n" + ByReason(lines, KaiVerdict::kDiffers);
  if (all.excluded > 0) text += "\n## Excluded\n\n" + Excluded(lines);
  return text;
}

}  // namespace tephra
