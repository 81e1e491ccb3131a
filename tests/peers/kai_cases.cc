// kai_cases: KAI-Scheduler's own test cases, put to the engine of this build.
//
//   kai_cases [--reasons FILE] [--only TEXT] [--plans] [--output text|json|markdown] FOLDER
//
// FOLDER holds the cases as *.json (hack/kai.sh unpacks them). Exit status 1: a case that differs
// has no reason, or one that does not has one.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/peers/kai_case.h"
#include "tests/peers/kai_play.h"
#include "tests/peers/kai_reasons.h"
#include "tests/peers/kai_report.h"

namespace tephra {
namespace {

struct Arguments {
  std::string folder, reasons, only, output = "text";
  bool plans = false;
};

bool Parse(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--plans") {
      out.plans = true;
    } else if (word == "--reasons" || word == "--only" || word == "--output") {
      if (++i == argc) return false;
      (word == "--reasons" ? out.reasons : word == "--only" ? out.only : out.output) = argv[i];
    } else if (out.folder.empty() && word.rfind("--", 0) != 0) {
      out.folder = word;
    } else {
      return false;
    }
  }
  return !out.folder.empty() &&
         (out.output == "text" || out.output == "json" || out.output == "markdown");
}

absl::StatusOr<std::string> Contents(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(path + ": cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::StatusOr<std::vector<KaiCase>> Read(const Arguments& arguments) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(arguments.folder, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  if (paths.empty()) return absl::NotFoundError(arguments.folder + ": no *.json there");
  std::sort(paths.begin(), paths.end());
  std::vector<KaiCase> cases;
  for (const auto& path : paths) {
    TEPHRA_ASSIGN_OR_RETURN(const std::string text, Contents(path.string()));
    TEPHRA_ASSIGN_OR_RETURN(std::vector<KaiCase> more, ReadKaiCases(path.stem().string(), text));
    for (KaiCase& one : more) {
      if (one.id.find(arguments.only) != std::string::npos) cases.push_back(std::move(one));
    }
  }
  return cases;
}

absl::StatusOr<bool> Run(const Arguments& arguments) {
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<KaiCase> cases, Read(arguments));
  std::map<std::string, KaiReason> reasons;
  if (!arguments.reasons.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(const std::string text, Contents(arguments.reasons));
    TEPHRA_ASSIGN_OR_RETURN(reasons, ReadKaiReasons(arguments.reasons, text));
  }
  bool good = true;
  std::vector<KaiLine> lines;
  std::set<std::string> known;
  for (const KaiCase& one : cases) {
    known.insert(one.id);
    KaiLine& line = lines.emplace_back();
    line.id = one.id;
    line.name = one.name;
    line.file = one.file;
    line.kind = one.kind;
    const auto reason = reasons.find(one.id);
    if (!one.excluded.empty()) {
      line.verdict = reason == reasons.end() ? KaiVerdict::kExcluded : KaiVerdict::kStale;
      line.reason = one.excluded;
    } else {
      const KaiResult result = PlayKaiCase(one);
      line.difference = result.difference;
      const bool same = line.difference.empty();
      if (reason == reasons.end()) {
        line.verdict = same ? KaiVerdict::kSame : KaiVerdict::kFails;
      } else {
        line.verdict = same ? KaiVerdict::kStale : reason->second.verdict;
        line.reason = reason->second.text;
      }
      if (arguments.plans) std::printf("%s\n%s", one.id.c_str(), result.plans.c_str());
    }
    good = good && line.verdict != KaiVerdict::kFails && line.verdict != KaiVerdict::kStale;
  }
  for (const auto& [id, reason] : reasons) {
    if (!arguments.only.empty() || known.contains(id)) continue;
    std::fprintf(stderr, "%s: no case %s\n", arguments.reasons.c_str(), id.c_str());
    good = false;
  }
  const std::string text = arguments.output == "json"       ? KaiJson(lines)
                           : arguments.output == "markdown" ? KaiMarkdown(lines)
                                                            : KaiText(lines);
  std::fputs(text.c_str(), stdout);
  return good;
}

}  // namespace
}  // namespace tephra

int main(int argc, char** argv) {
  tephra::Arguments arguments;
  if (!tephra::Parse(argc, argv, arguments)) {
    std::fputs(
        "kai_cases [--reasons FILE] [--only TEXT] [--plans] [--output text|json|markdown] FOLDER\n",
        stderr);
    return 2;
  }
  const auto good = tephra::Run(arguments);
  if (!good.ok()) {
    std::fprintf(stderr, "kai_cases: %s\n", std::string(good.status().message()).c_str());
    return 2;
  }
  return *good ? 0 : 1;
}
