// Why cases end otherwise than with KAI: written beside the cases, one reason for all that share
// it.
#pragma once

#include <map>
#include <string>

#include "tests/peers/kai_report.h"
#include "topology/base/status.h"

namespace tephra {

struct KaiReason {
  KaiVerdict verdict = KaiVerdict::kDiffers;
  std::string text;
};

// By case id. `text`: a list of {class, reason, cases}. INVALID_ARGUMENT for anything else, and for
// a case with two reasons.
absl::StatusOr<std::map<std::string, KaiReason>> ReadKaiReasons(const std::string& file,
                                                                const std::string& text);

}  // namespace tephra
