#include "tests/peers/kai_renamed.h"

#include <algorithm>
#include <set>
#include <vector>

#include "tests/peers/kai_hardware.h"

namespace tephra {
namespace {

using Outcomes = std::map<std::string, KaiOutcome>;

std::string Joined(std::vector<std::string> parts) {
  std::sort(parts.begin(), parts.end());
  std::string text = "(";
  for (const std::string& part : parts) text += part + ";";
  return text + ")";
}

class Tree {
 public:
  Tree(const KaiCase& one, const KaiSetup& setup, const Outcomes& outcomes)
      : case_(one), setup_(setup), outcomes_(outcomes) {}

  std::string Text() const {
    std::vector<const KaiNode*> nodes;
    for (const KaiNode& node : case_.nodes) nodes.push_back(&node);
    return Below(nodes, 0);
  }

 private:
  // A node without the label is beside the domains of that level.
  std::string Below(const std::vector<const KaiNode*>& nodes, std::size_t level) const {
    std::vector<std::string> parts;
    std::map<std::string, std::vector<const KaiNode*>> domains;
    for (const KaiNode* node : nodes) {
      if (level < case_.levels.size() && node->labels.contains(case_.levels[level])) {
        domains[node->labels.at(case_.levels[level])].push_back(node);
      } else {
        parts.push_back(Leaf(*node));
      }
    }
    for (const auto& [value, inside] : domains) parts.push_back(Below(inside, level + 1));
    return Joined(std::move(parts));
  }

  // All that the case says of the node but its name, and the tasks that begin and end on it.
  std::string Leaf(const KaiNode& node) const {
    std::string text = std::to_string(node.cpu_milli) + "," + std::to_string(node.memory_bytes) +
                       "," + std::to_string(node.pods) + "," + std::to_string(node.gpus) + "x" +
                       std::to_string(node.gpu_memory_mib);
    for (const auto& [profile, count] : node.mig) {
      text += "," + std::to_string(count) + "x" + profile;
    }
    for (const auto& [key, value] : node.labels) {
      const bool level =
          std::find(case_.levels.begin(), case_.levels.end(), key) != case_.levels.end();
      if (!level) text += "," + key + "=" + value;
    }
    std::vector<std::string> tasks;
    for (const KaiJob& job : case_.jobs) {
      for (const KaiTask& task : job.tasks) {
        // A name that a task asks for is more than a name.
        const std::string type = KaiTypeOf(node);
        if (std::find(task.node_types.begin(), task.node_types.end(), type) !=
            task.node_types.end()) {
          text += "," + type;
        }
        const KaiSeat& seat = setup_.seats.at(task.id);
        const std::string what =
            seat.job + "/" + seat.role + "/" + task.state + Joined(task.gpu_groups);
        if (task.node == node.name) tasks.push_back("from " + what);
        const auto outcome = outcomes_.find(task.id);
        if (outcome != outcomes_.end() && outcome->second.node == node.name) {
          tasks.push_back("to " + what);
        }
      }
    }
    return text + Joined(std::move(tasks));
  }

  const KaiCase& case_;
  const KaiSetup& setup_;
  const Outcomes& outcomes_;
};

}  // namespace

bool SameButForNames(const KaiCase& one, const KaiSetup& setup, const Outcomes& actual) {
  Outcomes theirs, ours;
  for (const auto& [task, outcome] : one.expected) {
    if (outcome.status == "Pending" || outcome.status == "Succeeded" || outcome.status == "Failed")
      continue;
    const auto became = actual.find(task);
    if (outcome.node.empty() || became == actual.end()) return false;
    theirs[task] = outcome;
    ours[task] = became->second;
  }
  return Tree(one, setup, theirs).Text() == Tree(one, setup, ours).Text();
}

}  // namespace tephra
