#include "tests/peers/kai_affinity.h"

#include <algorithm>
#include <set>
#include <vector>

#include "tests/peers/kai_gang.h"

namespace tephra {
namespace {

using TermLabels = std::map<std::string, std::string>;

bool Selects(const TermLabels& term, const KaiTask& task) {
  return std::all_of(term.begin(), term.end(), [&](const auto& label) {
    const auto has = task.affinity_labels.find(label.first);
    return has != task.affinity_labels.end() && has->second == label.second;
  });
}

bool HasTerm(const KaiTask& task, const std::string& key) {
  return !task.affinity_labels.empty() && !key.empty();
}

bool AnyNodeHas(const KaiCase& one, const std::string& key) {
  return std::any_of(one.nodes.begin(), one.nodes.end(),
                     [&](const KaiNode& node) { return node.labels.contains(key); });
}

// The values of the key where tasks that the term selects run.
std::vector<std::string> ValuesOf(const KaiCase& one, const KaiTask& task) {
  std::set<std::string> values;
  for (const KaiJob& job : one.jobs) {
    for (const KaiTask& other : job.tasks) {
      if (!KaiHoldsRoom(other.state) || !Selects(task.affinity_labels, other)) continue;
      for (const KaiNode& node : one.nodes) {
        const auto label = node.labels.find(task.affinity_key);
        if (node.name == other.node && label != node.labels.end()) values.insert(label->second);
      }
    }
  }
  return {values.begin(), values.end()};
}

// Whether a task of another job that does not run yet would be selected.
bool WaitsForOthers(const KaiCase& one, const KaiJob& mine, const KaiTask& task) {
  return std::any_of(one.jobs.begin(), one.jobs.end(), [&](const KaiJob& job) {
    return job.name != mine.name &&
           std::any_of(job.tasks.begin(), job.tasks.end(), [&](const KaiTask& other) {
             return Selects(task.affinity_labels, other) && !KaiHoldsRoom(other.state);
           });
  });
}

// Whether the tasks of the job that select each other have to find a domain together.
bool Together(const KaiCase& one, const KaiTask& task) {
  return HasTerm(task, task.affinity_key) && ValuesOf(one, task).empty();
}

std::string TermText(const TermLabels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) text += key + "=" + value + ",";
  return text;
}

void AddLimits(const KaiCase& one, const KaiTask& task, PodTemplate& pod) {
  for (const KaiJob& job : one.jobs) {
    for (const KaiTask& other : job.tasks) {
      if (!HasTerm(other, other.anti_affinity_key) || !Selects(other.affinity_labels, task)) continue;
      if (!AnyNodeHas(one, other.anti_affinity_key)) continue;
      DomainLimit limit{TermText(other.affinity_labels), other.anti_affinity_key};
      const bool carries = task.affinity_labels == other.affinity_labels &&
                           task.anti_affinity_key == other.anti_affinity_key;
      if (!carries) limit.max = DomainLimit::kNoBound;
      if (std::find(pod.limits.begin(), pod.limits.end(), limit) == pod.limits.end()) {
        pod.limits.push_back(limit);
      }
    }
  }
}

}  // namespace

void AddKaiAffinity(const KaiCase& one, const KaiTask& task, PodTemplate& pod) {
  AddLimits(one, task, pod);
  if (!HasTerm(task, task.affinity_key)) return;
  LabelRequirement where{task.affinity_key, LabelRequirement::Operator::kExists, {}};
  if (std::vector<std::string> values = ValuesOf(one, task); !values.empty()) {
    where.op = LabelRequirement::Operator::kIn;
    where.values = std::move(values);
  }
  std::vector<NodeSelectorTerm>& terms = pod.constraints.affinity;
  if (terms.empty()) terms.emplace_back();
  for (NodeSelectorTerm& term : terms) term.expressions.push_back(where);
}

std::string KaiSharedKey(const KaiCase& one, const KaiJob& job) {
  if (!one.predicates || job.tasks.size() < 2 || !Together(one, job.tasks[0])) return "";
  return job.tasks[0].affinity_key;
}

std::string KaiAffinityExcluded(const KaiCase& one) {
  if (!one.predicates) return "";
  std::set<std::string> keys;
  for (const KaiJob& job : one.jobs) {
    for (const KaiTask& task : job.tasks) {
      if (!HasTerm(task, task.affinity_key)) continue;
      if (WaitsForOthers(one, job, task)) {
        return "pod affinity to tasks of other jobs that do not run yet";
      }
      if (!Together(one, task)) continue;
      const bool all = std::all_of(job.tasks.begin(), job.tasks.end(), [&](const KaiTask& other) {
        return other.affinity_labels == task.affinity_labels &&
               other.affinity_key == task.affinity_key;
      });
      if (!all) return "pod affinity of some tasks of a job to each other";
      if (job.tasks.size() > 1) keys.insert(task.affinity_key);
    }
  }
  if (keys.empty()) return "";
  if (keys.size() > 1 || !one.topology.empty()) {
    return "pod affinity by a label beside a topology: the engine has one forest of domains";
  }
  return "";
}

}  // namespace tephra
