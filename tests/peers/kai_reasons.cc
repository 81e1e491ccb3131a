#include "tests/peers/kai_reasons.h"

#include <nlohmann/json.hpp>

namespace tephra {

absl::StatusOr<std::map<std::string, KaiReason>> ReadKaiReasons(const std::string& file,
                                                                const std::string& text) {
  const std::map<std::string, KaiVerdict> classes = {{"better", KaiVerdict::kBetter},
                                                     {"differs", KaiVerdict::kDiffers},
                                                     {"excluded", KaiVerdict::kExcluded}};
  try {
    std::map<std::string, KaiReason> reasons;
    for (const auto& group : nlohmann::json::parse(text)) {
      const auto named = classes.find(group.at("class").get<std::string>());
      if (named == classes.end()) {
        return absl::InvalidArgumentError(file + ": class: " + group.at("class").dump() +
                                          ", expected better, differs or excluded");
      }
      const KaiReason reason{named->second, group.at("reason").get<std::string>()};
      for (const auto& id : group.at("cases")) {
        if (reasons.emplace(id.get<std::string>(), reason).second) continue;
        return absl::InvalidArgumentError(file + ": " + id.get<std::string>() + " has two reasons");
      }
    }
    return reasons;
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(file + ": " + error.what());
  }
}

}  // namespace tephra
