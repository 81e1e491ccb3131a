#include "plugins/node/problems.h"

#include "base/log.h"

namespace tephra::node {
namespace {

// Problems beyond so many are logged and not kept: subjects can be of strangers' making.
constexpr std::size_t kMostProblems = 1000;

}  // namespace

std::vector<std::string> Problems::Kinds() {
  return {problem_kind::kDriver, problem_kind::kFolder, problem_kind::kPod, problem_kind::kSlice};
}

void Problems::Set(const std::string& kind, const std::string& subject, const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto found = problems_.find({kind, subject});
  if (found != problems_.end() && found->second == text) return;
  LogWarning("problem", {{"kind", kind}, {"subject", subject}, {"why", text}});
  if (found != problems_.end()) {
    found->second = text;
  } else if (problems_.size() < kMostProblems) {
    problems_.emplace(std::pair(kind, subject), text);
  }
}

void Problems::Clear(const std::string& kind, const std::string& subject) {
  const std::lock_guard lock(mutex_);
  if (problems_.erase({kind, subject}) == 0) return;
  LogInfo("problem solved", {{"kind", kind}, {"subject", subject}});
}

std::vector<Problem> Problems::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<Problem> all;
  for (const auto& [key, text] : problems_) all.push_back({key.first, key.second, text});
  return all;
}

}  // namespace tephra::node
