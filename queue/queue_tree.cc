#include "queue/queue_tree.h"

#include <algorithm>
#include <map>

namespace tephra {
namespace {

absl::Status ValidateAmounts(const QueueSpec& spec, const char* field, const Resources& amounts) {
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    if (amounts[kind] < 0 || amounts[kind] > kMaxSum) {
      return absl::InvalidArgumentError(
          "queue \"" + spec.name + "\": " + field + "[kind " + std::to_string(kind) +
          "]: " + std::to_string(amounts[kind]) + ", expected 0 to " + std::to_string(kMaxSum));
    }
  }
  return absl::OkStatus();
}

// Sets the GPUs to the sum of the models if no number of GPUs is given.
absl::Status SumModels(const QueueSpec& spec, const ResourceKinds& kinds, const char* field,
                       Resources& quota) {
  std::int64_t sum = 0;
  std::string each;
  for (const auto& [model, kind] : kinds.models()) {
    if (quota[kind] == 0) continue;
    sum = std::min(sum + quota[kind], kMaxSum);
    each += (each.empty() ? "" : ", ") + AmountText(kinds, kind, quota[kind]);
  }
  if (quota[kGpu] == 0) quota[kGpu] = sum;
  if (sum <= quota[kGpu]) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "queue \"" + spec.name + "\": " + field + ": " + AmountText(kinds, kGpu, quota[kGpu]) +
      " in all, expected at least the " + AmountText(kinds, kGpu, sum) + " of its models: " + each);
}

}  // namespace

absl::Status QueueTree::Upsert(const QueueSpec& given, const ResourceKinds& kinds) {
  QueueSpec spec = given;
  if (spec.name.empty()) return absl::InvalidArgumentError("queue: name: empty");
  if (spec.weight < 1) {
    return absl::InvalidArgumentError("queue \"" + spec.name + "\": weight: " +
                                      std::to_string(spec.weight) + ", expected at least 1");
  }
  TEPHRA_RETURN_IF_ERROR(ValidateAmounts(spec, "limit", spec.limit));
  TEPHRA_RETURN_IF_ERROR(ValidateAmounts(spec, "guarantee", spec.guarantee));
  TEPHRA_RETURN_IF_ERROR(ValidateAmounts(spec, "deserved", spec.deserved));
  if (spec.eviction_delay_ms < 0 || spec.eviction_delay_ms > kMostEvictionDelayMs) {
    return absl::InvalidArgumentError("queue \"" + spec.name + "\": eviction_delay_ms: " +
                                      std::to_string(spec.eviction_delay_ms) +
                                      ", expected 0 to " + std::to_string(kMostEvictionDelayMs));
  }
  TEPHRA_RETURN_IF_ERROR(SumModels(spec, kinds, "guarantee", spec.guarantee));
  TEPHRA_RETURN_IF_ERROR(SumModels(spec, kinds, "deserved", spec.deserved));
  const QueueId id = Reserve(spec.name);
  Row& row = rows_[id.index()];
  Count(row, -1);
  row.spec = spec;
  row.present = true;
  Count(row, +1);
  under_[spec.parent].push_back(id);
  Relink(spec.name);
  CollectDeserved();
  return absl::OkStatus();
}

bool QueueTree::limited(QueueId id) const {
  for (; id.valid(); id = parent(id)) {
    if (present(id) && spec(id).limited_kinds != 0) return true;
  }
  return false;
}

void QueueTree::Remove(const std::string& name) {
  const QueueId id = Find(name);
  if (!id.valid()) return;
  Row& row = rows_[id.index()];
  Count(row, -1);
  row.present = false;
  Relink(name);
  CollectDeserved();
}

// Updates the counts over all queues.
void QueueTree::Count(const Row& row, int sign) {
  if (!row.present) return;
  if (row.spec.guarantee.NonZero() != 0) guarantees_ += sign;
  if (row.spec.deserved.NonZero() != 0) deserving_ += sign;
  if (row.spec.eviction_delay_ms > 0) delays_ += sign;
  if (sign < 0) std::erase(under_[row.spec.parent], by_name_.at(row.spec.name));
}

void QueueTree::CollectDeserved() {
  deserved_under_.clear();
  if (deserving_ == 0) return;
  deserved_under_.resize(rows_.size() + 1);
  for (const Row& row : rows_) {
    if (!row.present) continue;
    KindSet& kinds = row.parent.valid() ? deserved_under_[row.parent.index()] : deserved_under_.back();
    kinds |= row.spec.deserved.NonZero();
  }
}

KindSet QueueTree::deserved_beside(QueueId id) const {
  if (deserved_under_.empty() || !present(id)) return 0;
  const QueueId up = parent(id);
  return up.valid() ? deserved_under_[up.index()] : deserved_under_.back();
}

DurationMs QueueTree::EvictionDelay(QueueId id) const {
  DurationMs longest = 0;
  for (; id.valid() && delays(); id = parent(id)) {
    if (present(id)) longest = std::max(longest, spec(id).eviction_delay_ms);
  }
  return longest;
}

QueueId QueueTree::Find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() || !present(it->second) ? QueueId() : it->second;
}

QueueId QueueTree::Reserve(const std::string& name) {
  const auto [it, fresh] = by_name_.try_emplace(name, QueueId(rows_.size()));
  if (fresh) rows_.emplace_back().spec.name = name;
  return it->second;
}

// Links the queue of that name, which is new, removed or moved, and its child queues.
void QueueTree::Relink(const std::string& name) {
  const QueueId id = by_name_.at(name);
  if (!cycles_) {
    Row& row = rows_[id.index()];
    row.parent = row.present ? Find(row.spec.parent) : QueueId();
    for (const QueueId child : under_[name]) {
      rows_[child.index()].parent = row.present ? id : QueueId();
    }
    if (EndsAbove(id)) return;
  }
  LinkAll();
}

bool QueueTree::EndsAbove(QueueId id) const {
  for (QueueId up = parent(id); up.valid(); up = parent(up)) {
    if (up == id) return false;
  }
  return true;
}

void QueueTree::LinkAll() {
  cycles_ = false;
  for (Row& row : rows_) {
    row.parent = row.present ? Find(row.spec.parent) : QueueId();
    row.cycle.clear();
  }
  std::vector<std::size_t> walk(rows_.size());  // the walk that reached the row first
  for (std::size_t start = 0; start < rows_.size(); ++start) {
    QueueId at(start);
    while (at.valid() && walk[at.index()] == 0) {
      walk[at.index()] = start + 1;
      at = parent(at);
    }
    if (!at.valid() || walk[at.index()] != start + 1) continue;
    // `at` is on a cycle. The text starts at the first name, so it does not depend on the walk.
    std::vector<QueueId> members;
    for (QueueId member = at; members.empty() || member != at; member = parent(member)) {
      members.push_back(member);
    }
    const auto name = [&](QueueId id) -> const std::string& { return spec(id).name; };
    std::rotate(members.begin(),
                std::min_element(members.begin(), members.end(),
                                 [&](QueueId a, QueueId b) { return name(a) < name(b); }),
                members.end());
    std::string text;
    for (const QueueId member : members) text += name(member) + " -> ";
    text += name(members.front());
    for (const QueueId member : members) {
      rows_[member.index()].parent = QueueId();
      rows_[member.index()].cycle = text;
    }
    cycles_ = true;
  }
}

std::vector<QueueTree::Overdraft> QueueTree::Overdrawn(const ResourceKinds& kinds) const {
  std::map<std::string, QueueId> by_name;
  for (const auto& [name, id] : by_name_) {
    if (present(id)) by_name.emplace(name, id);
  }
  std::vector<Overdraft> found;
  for (const auto& [name, id] : by_name) {
    const QueueSpec& queue = spec(id);
    Resources guaranteed;  // to its child queues
    std::string children;
    const auto under = under_.find(name);
    if (under != under_.end()) {
      std::vector<std::string> names;
      for (const QueueId child : under->second) {
        if (parent(child) != id || spec(child).guarantee.NonZero() == 0) continue;
        guaranteed.Add(spec(child).guarantee);
        names.push_back(spec(child).name);
      }
      std::sort(names.begin(), names.end());
      for (const std::string& child_name : names)
        children += (children.empty() ? "" : ", ") + child_name;
    }
    for (Kind kind = 0; kind < kinds.size(); ++kind) {
      const bool limited = (queue.limited_kinds >> kind & 1) != 0;
      const auto words = [&](std::int64_t amount) { return AmountText(kinds, kind, amount); };
      const std::string what = "guarantee: ";
      if (limited && queue.guarantee[kind] > queue.limit[kind]) {
        found.push_back({id, what + words(queue.guarantee[kind]) + " to " + name +
                                 ", expected at most its limit of " + words(queue.limit[kind])});
      } else if (limited && guaranteed[kind] > queue.limit[kind]) {
        found.push_back({id, what + words(guaranteed[kind]) + " to the queues under " + name +
                                 " (" + children + "), expected at most its limit of " +
                                 words(queue.limit[kind])});
      } else if (queue.guarantee[kind] > 0 && guaranteed[kind] > queue.guarantee[kind]) {
        found.push_back({id, what + words(guaranteed[kind]) + " to the queues under " + name +
                                 " (" + children + "), expected at most its own of " +
                                 words(queue.guarantee[kind])});
      }
    }
  }
  return found;
}

}  // namespace tephra
