// What is printed of the cases: lines, JSON for a script, or the tables of docs/reference/kai.md.
#pragma once

#include <string>
#include <vector>

namespace tephra {

enum class KaiVerdict {
  kSame,
  kBetter,    // differs, and is as good or better, for a written reason
  kDiffers,   // for a written reason
  kExcluded,  // about something that the engine does not have; the reason says what
  kFails,     // differs and no reason is written
  kStale,     // is the same, and yet a reason is written
};

struct KaiLine {
  std::string id, name, file, kind;
  KaiVerdict verdict = KaiVerdict::kSame;
  std::string difference, reason;
};

const char* KaiVerdictText(KaiVerdict verdict);
std::string KaiText(const std::vector<KaiLine>& lines);
std::string KaiJson(const std::vector<KaiLine>& lines);
std::string KaiMarkdown(const std::vector<KaiLine>& lines);

}  // namespace tephra
