#include "tests/peers/kai_judge.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "tests/peers/kai_renamed.h"

namespace tephra {
namespace {

std::string Plain(const std::string& status) {
  if (status == "Binding" || status == "Bound" || status == "Allocated") return "Running";
  if (status == "Gated") return "Pending";
  if (status == "StuckInReleasing") return "Releasing";
  return status;
}

bool SameNode(const KaiCase& one, const std::string& expected, const std::string& actual) {
  if (expected.empty() || expected == actual) return true;
  return std::any_of(one.node_ties.begin(), one.node_ties.end(),
                     [&](const std::vector<std::string>& tie) {
                       const auto in = [&](const std::string& node) {
                         return std::find(tie.begin(), tie.end(), node) != tie.end();
                       };
                       return in(expected) && in(actual);
                     });
}

// A node is asked for only of what has one.
bool Agree(const KaiCase& one, bool renamed, const KaiOutcome& expected, const KaiOutcome& actual) {
  const std::string status = Plain(expected.status);
  if (status != actual.status) return false;
  if (status == "Pending" || status == "Failed" || status == "Succeeded") return true;
  return renamed || SameNode(one, expected.node, actual.node);
}

std::string Words(const KaiOutcome& outcome) {
  return outcome.node.empty() ? outcome.status : outcome.status + " on " + outcome.node;
}

}  // namespace

std::string StatesDiffer(const KaiCase& one, const KaiSetup& setup,
                         const std::map<std::string, KaiOutcome>& actual) {
  using Alike =
      std::tuple<std::string, std::string, std::string, std::string, std::vector<std::string>>;
  std::map<Alike, std::vector<std::string>> groups;
  for (const KaiJob& job : one.jobs) {
    for (const KaiTask& task : job.tasks) {
      const KaiSeat& seat = setup.seats.at(task.id);
      groups[{seat.job, seat.role, task.state, task.node, task.gpu_groups}].push_back(task.id);
    }
  }
  const bool renamed = !one.levels.empty() && SameButForNames(one, setup, actual);
  std::string differences;
  for (const auto& [alike, tasks] : groups) {
    std::vector<std::string> open;   // outcomes that match no task yet
    std::vector<std::string> unmet;  // tasks with another outcome than the expected one
    for (const std::string& task : tasks) {
      const auto expected = one.expected.find(task);
      const auto became = actual.find(task);
      const bool met = expected != one.expected.end() && became != actual.end() &&
                       Agree(one, renamed, expected->second, became->second);
      if (!met && became != actual.end()) open.push_back(task);
      if (!met && expected != one.expected.end()) unmet.push_back(task);
    }
    for (const std::string& task : unmet) {
      const KaiOutcome& expected = one.expected.at(task);
      const auto like = std::find_if(open.begin(), open.end(), [&](const std::string& other) {
        return Agree(one, renamed, expected, actual.at(other));
      });
      if (like != open.end()) {
        open.erase(like);
        continue;
      }
      differences += (differences.empty() ? "" : "; ") + task + ": " +
                     (actual.contains(task) ? Words(actual.at(task)) : "not there") +
                     ", KAI: " + Words({Plain(expected.status), expected.node});
    }
  }
  return differences;
}

std::string CallsDiffer(const KaiCase& one, const KaiCalls& calls) {
  std::string differences;
  const std::tuple<const char*, int, int> kinds[] = {{"binds", calls.binds, one.binds},
                                                     {"evictions", calls.evictions, one.evictions},
                                                     {"pipelines", calls.pipelines, one.pipelines}};
  for (const auto& [name, ours, most] : kinds) {
    if (ours <= most) continue;
    differences += (differences.empty() ? "" : "; ") + std::to_string(ours) + " " + name +
                   ", KAI: at most " + std::to_string(most);
  }
  return differences;
}

}  // namespace tephra
