#include "sidecar/inbox.h"

#include <utility>

namespace tephra {
namespace {

// What a fact is about, and what else must be known when it is applied. A fact about nothing in
// particular (an outcome, the kinds) lets no other pass it.
struct Subject {
  std::string about;
  std::vector<std::string> needs;
};

std::string Named(char kind, const std::string& name) { return kind + name; }

struct SubjectOf {
  Subject operator()(const NodeUpserted& fact) const { return {Named('n', fact.node.name), {}}; }
  Subject operator()(const NodeRemoved& fact) const { return {Named('n', fact.name), {}}; }
  Subject operator()(const QueueUpserted& fact) const {
    return {Named('q', fact.queue.name), {Named('q', fact.queue.parent)}};
  }
  Subject operator()(const QueueRemoved& fact) const { return {Named('q', fact.name), {}}; }
  Subject operator()(const JobUpserted& fact) const {
    Subject subject{Named('j', fact.job.uid), {Named('q', fact.job.queue)}};
    for (const RoleSpec& role : fact.job.gang.roles) {
      const std::string& mask = role.pod.constraints.mask;
      if (!mask.empty()) subject.needs.push_back(Named('m', mask));
    }
    return subject;
  }
  Subject operator()(const JobRemoved& fact) const { return {Named('j', fact.uid), {}}; }
  Subject operator()(const TaskUpserted& fact) const {
    return {Named('t', fact.task.uid), {Named('j', fact.task.job), Named('n', fact.task.node)}};
  }
  Subject operator()(const TaskRemoved& fact) const { return {Named('t', fact.uid), {}}; }
  Subject operator()(const MaskUpserted& fact) const { return {Named('m', fact.name), {}}; }
  Subject operator()(const MaskRemoved& fact) const { return {Named('m', fact.name), {}}; }
  Subject operator()(const DomainUpserted& fact) const {
    return {Named('d', fact.domain.name), {}};
  }
  Subject operator()(const DomainRemoved& fact) const { return {Named('d', fact.name), {}}; }
  Subject operator()(const DisruptionBudgetUpserted& fact) const {
    return {Named('b', fact.name), {}};
  }
  Subject operator()(const DisruptionBudgetRemoved& fact) const {
    return {Named('b', fact.name), {}};
  }
  template <class Other>
  Subject operator()(const Other&) const {
    return {};
  }
};

// A removal is a word of its own: the object that comes after it is a new one.
bool IsUpsert(const Event& event) {
  return std::holds_alternative<NodeUpserted>(event) ||
         std::holds_alternative<QueueUpserted>(event) ||
         std::holds_alternative<JobUpserted>(event) ||
         std::holds_alternative<TaskUpserted>(event) ||
         std::holds_alternative<MaskUpserted>(event) ||
         std::holds_alternative<DomainUpserted>(event) ||
         std::holds_alternative<DisruptionBudgetUpserted>(event);
}

}  // namespace

void Inbox::Add(Received fact) {
  const Subject subject = std::visit(SubjectOf{}, fact.event);
  const std::size_t here = facts_.size();
  if (subject.about.empty()) {
    last_.clear();
  } else {
    const auto [found, first] = last_.try_emplace(subject.about, here);
    if (!first) {
      std::optional<Received>& earlier = facts_[std::exchange(found->second, here)];
      // Facts that only need the object are about another one. That a task succeeded is remembered
      // when its pod is gone, so its last words are not dropped for its removal.
      if (earlier.has_value() && IsUpsert(earlier->event) &&
          !std::holds_alternative<TaskRemoved>(fact.event) &&
          std::visit(SubjectOf{}, earlier->event).about == subject.about) {
        earlier.reset();
        ++superseded_;
      }
    }
    for (const std::string& needed : subject.needs) last_[needed] = here;
  }
  facts_.emplace_back(std::move(fact));
}

std::vector<Received> Inbox::Take() {
  std::vector<Received> left;
  left.reserve(size());
  for (std::optional<Received>& fact : facts_) {
    if (fact.has_value()) left.push_back(std::move(*fact));
  }
  Clear();
  return left;
}

void Inbox::Clear() {
  facts_.clear();
  last_.clear();
  superseded_ = 0;
}

}  // namespace tephra
