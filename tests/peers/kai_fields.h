// What a case says in a field or with a value that the translation does not read.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tephra {

// The first such field, with its object; empty: all of the case is read. Fields that say nothing of
// the decision (names, sources, what KAI did) count as read.
std::string UnreadField(const nlohmann::json& one);

}  // namespace tephra
