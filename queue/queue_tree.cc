#include "queue/queue_tree.h"

#include <string>

namespace tephra {

absl::Status QueueTree::Upsert(const QueueSpec& spec) {
  const std::string where = "queue \"" + spec.name + "\"";
  if (spec.name.empty()) return absl::InvalidArgumentError("queue: name: empty");
  if (spec.weight < 1) {
    return absl::InvalidArgumentError(where + ": weight: " + std::to_string(spec.weight) +
                                      ", expected at least 1");
  }
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    if (spec.limit[kind] < 0 || spec.limit[kind] > kMaxSum) {
      return absl::InvalidArgumentError(where + ": limit[kind " + std::to_string(kind) +
                                        "]: " + std::to_string(spec.limit[kind]) +
                                        ", expected 0 to " + std::to_string(kMaxSum));
    }
  }
  // The chain of parents as it would become; it must end.
  std::string chain = spec.name;
  for (std::string up = spec.parent; !up.empty();) {
    chain += " -> " + up;
    if (up == spec.name) {
      return absl::InvalidArgumentError(where + ": parent: cycle " + chain);
    }
    const QueueId id = Find(up);
    up = id.valid() ? rows_[id.index()].spec.parent : "";
  }
  Row& row = rows_[Reserve(spec.name).index()];
  row.spec = spec;
  row.present = true;
  Relink();
  return absl::OkStatus();
}

void QueueTree::Remove(const std::string& name) {
  const QueueId id = Find(name);
  if (!id.valid()) return;
  rows_[id.index()].present = false;
  Relink();
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

void QueueTree::Relink() {
  for (Row& row : rows_) row.parent = row.present ? Find(row.spec.parent) : QueueId();
}

}  // namespace tephra
