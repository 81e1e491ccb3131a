#include "engine/state.h"

#include <utility>

#include "engine/fact_checks.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

// True where `version` is new for `name`, which then remembers it.
bool Newer(std::unordered_map<std::string, std::uint64_t>& known, const std::string& name,
           std::uint64_t version) {
  const auto [it, fresh] = known.try_emplace(name, version);
  if (fresh) return true;
  if (version <= it->second) return false;
  it->second = version;
  return true;
}

}  // namespace

absl::Status State::Apply(const Event& event) {
  TEPHRA_CHECK_OP(living_snapshots_, ==, 0);
  absl::Status status = std::visit([this](const auto& fact) { return On(fact); }, event);
  if (status.ok()) ++rows().version;
  return status;
}

Snapshot State::Freeze(TimeMs now) {
  rows().hardware.Settle();
  rows().occupancy.Grow(rows().facts());
  return Snapshot(rows(), now, &living_snapshots_);
}

void State::Settle() {
  TEPHRA_CHECK_OP(living_snapshots_, ==, 0);
  rows().recent_pods.Settle();
  rows().hardware.Settle();
}

Due State::TakeDue(const Policies& policies) {
  TEPHRA_CHECK_OP(living_snapshots_, ==, 0);
  return table_.wake_ups().Take(rows(), policies, table_.cycle_time());
}

JobId State::FindJob(const std::string& uid) const {
  return jobs_by_uid_.Find(books().jobs, uid);
}

// --- facts ---------------------------------------------------------------------------------

absl::Status State::On(const KindsDeclared& fact) {
  ResourceKinds grown = rows().kinds;
  for (std::size_t i = 0; i < fact.names.size(); ++i) {
    TEPHRA_ASSIGN_OR_RETURN(const Kind kind, grown.Intern(fact.names[i]));
    if (kind != kFirstExtendedKind + i) {
      return absl::InvalidArgumentError(
          "resource kind \"" + fact.names[i] + "\": declared as number " +
          std::to_string(kFirstExtendedKind + i) + ", known as " + std::to_string(kind));
    }
  }
  const bool more_models = grown.models() != rows().kinds.models();
  rows().kinds = std::move(grown);
  if (more_models) CountModels();
  return absl::OkStatus();
}

// As if the models that are counted by themselves now had been so from the first.
void State::CountModels() {
  rows().classes.CountModels(rows().kinds.models());
  for (std::size_t j = 0; j < rows().jobs.size(); ++j) rows().inqueue.Touch(JobId(j));
  for (Books::Demand& demand : rows().queue_pending) demand = {};
  for (const TaskRow& task : rows().tasks) {
    if (TaskTable::Demands(task)) {
      table_.CountDemand(table_.QueueOf(task), task.cls, +1);
    }
  }
  for (std::size_t n = 0; n < rows().hardware.slots(); ++n) {
    const NodeId node(n);
    if (!rows().hardware.present(node)) continue;
    const NodeSpec spec = rows().hardware.spec(node);
    table_.Recharge(node, [&] { rows().hardware.Upsert(spec, rows().kinds.models()); });
  }
  table_.wake_ups().capacity().Anywhere();
  ++rows().news;
}

template <class Change>
void State::ChangeNode(NodeId node, Change change) {
  table_.Recharge(node, change);
  if (rows().hardware.present(node)) table_.GuessMissingSlices(node);
  std::erase_if(rows().refused,
                [&](std::uint64_t key) { return static_cast<std::uint32_t>(key) == node.value; });
  table_.wake_ups().capacity().Anywhere();
  ++rows().news;
}

absl::Status State::On(const NodeUpserted& fact) {
  TEPHRA_RETURN_IF_ERROR(ValidateNode(fact.node));
  TEPHRA_RETURN_IF_ERROR(
      CheckNamed(rows().kinds, "node", fact.node.name, fact.node.allocatable.NonZero()));
  if (!Newer(node_versions_, fact.node.name, fact.version)) return absl::OkStatus();
  const NodeId node = rows().hardware.Reserve(fact.node.name);
  if (rows().hardware.present(node) && rows().hardware.spec(node) == fact.node) {
    return absl::OkStatus();
  }
  ChangeNode(node, [&] { rows().hardware.Upsert(fact.node, rows().kinds.models()); });
  return absl::OkStatus();
}

absl::Status State::On(const NodeRemoved& fact) {
  node_versions_.erase(fact.name);
  const NodeId node = rows().hardware.Find(fact.name);
  if (node.valid()) ChangeNode(node, [&] { rows().hardware.Remove(node); });
  return absl::OkStatus();
}

absl::Status State::On(const QueueUpserted& fact) {
  const auto known = queue_versions_.find(fact.queue.name);
  if (known != queue_versions_.end() && fact.version <= known->second) return absl::OkStatus();
  const QueueSpec& queue = fact.queue;
  TEPHRA_RETURN_IF_ERROR(
      CheckDeclared(rows().kinds, "queue", queue.name,
                    queue.limited_kinds | queue.guarantee.NonZero() | queue.deserved.NonZero()));
  const QueueId before = rows().queues.Find(queue.name);
  const bool in_order = before.valid() && rows().queues.InOrder(before);
  const auto place = [&](QueueId at) {
    return at.valid() ? std::pair(rows().queues.spec(at).parent, rows().queues.spec(at).guarantee)
                      : std::pair(std::string(), Resources{});
  };
  const auto placed = place(before);
  const bool delays = rows().queues.delays();
  TEPHRA_RETURN_IF_ERROR(rows().queues.Upsert(queue, rows().kinds));
  queue_versions_[queue.name] = fact.version;
  rows().occupancy.Grow(rows().facts());
  const QueueId id = rows().queues.Find(queue.name);
  if (rows().queues.InOrder(id) != in_order) rows().lines.Rebuild(rows());
  if (before.valid() || rows().queues.has_children(queue.name) ||
      !rows().occupancy.AddEmptyQueue(rows().queues, id)) {
    if (!before.valid() || place(id) != placed) rows().occupancy.RollUpQueues(rows().queues);
  }
  if (delays || rows().queues.delays()) FollowDelays();
  table_.wake_ups().capacity().Anywhere();
  ++rows().news;
  return absl::OkStatus();
}

// The eviction delay of some queue may be another one.
void State::FollowDelays() {
  for (std::size_t j = 0; j < rows().jobs.size(); ++j) {
    if (rows().jobs[j].live) table_.FollowDelay(JobId(j));
  }
}

absl::Status State::On(const QueueRemoved& fact) {
  queue_versions_.erase(fact.name);
  const QueueId id = rows().queues.Find(fact.name);
  const bool in_order = id.valid() && rows().queues.InOrder(id);
  const bool delays = rows().queues.delays();
  rows().queues.Remove(fact.name);
  if (delays) FollowDelays();
  if (in_order) rows().lines.Rebuild(rows());
  rows().occupancy.RollUpQueues(rows().queues);
  table_.wake_ups().capacity().Anywhere();
  ++rows().news;
  return absl::OkStatus();
}

absl::Status State::On(const MaskUpserted& fact) {
  if (fact.name.empty()) return absl::InvalidArgumentError("mask: name: empty");
  for (const std::string& name : fact.excluded_nodes) {
    if (name.empty()) {
      return absl::InvalidArgumentError("mask \"" + fact.name +
                                        "\": excluded_nodes: an empty name");
    }
  }
  if (!Newer(mask_versions_, fact.name, fact.version)) return absl::OkStatus();
  std::vector<bool> excluded;
  for (const std::string& name : fact.excluded_nodes) {
    const NodeId node = rows().hardware.Reserve(name);
    if (excluded.size() <= node.index()) excluded.resize(node.index() + 1);
    excluded[node.index()] = true;
  }
  rows().occupancy.Grow(rows().facts());
  ++rows().news;
  if (rows().masks.Upsert(fact.name, std::move(excluded))) table_.wake_ups().capacity().Anywhere();
  return absl::OkStatus();
}

absl::Status State::On(const MaskRemoved& fact) {
  mask_versions_.erase(fact.name);
  rows().masks.Remove(fact.name);
  return absl::OkStatus();
}

absl::Status State::On(const DomainUpserted& fact) {
  TEPHRA_RETURN_IF_ERROR(ValidateDomain(fact.domain));
  if (Newer(domain_versions_, fact.domain.name, fact.version)) {
    rows().hardware.UpsertDomain(fact.domain);
    table_.wake_ups().capacity().Anywhere();
    ++rows().news;
  }
  return absl::OkStatus();
}

absl::Status State::On(const DomainRemoved& fact) {
  domain_versions_.erase(fact.name);
  rows().hardware.RemoveDomain(fact.name);
  table_.wake_ups().capacity().Anywhere();
  ++rows().news;
  return absl::OkStatus();
}

absl::Status State::On(const DisruptionBudgetUpserted& fact) {
  if (fact.name.empty()) return absl::InvalidArgumentError("disruption budget: name: empty");
  if (fact.allowed < 0) {
    return absl::InvalidArgumentError("disruption budget \"" + fact.name + "\": allowed: " +
                                      std::to_string(fact.allowed) + ", expected 0 or more");
  }
  if (Newer(disruption_budget_versions_, fact.name, fact.version)) {
    rows().disruption_budgets[fact.name] = fact.allowed;
    ++rows().news;
  }
  return absl::OkStatus();
}

absl::Status State::On(const DisruptionBudgetRemoved& fact) {
  disruption_budget_versions_.erase(fact.name);
  rows().disruption_budgets.erase(fact.name);
  ++rows().news;
  return absl::OkStatus();
}

absl::Status State::On(const ConfigChanged& fact) {
  rows().config = fact.config;
  rows().lines.Use(rows(), nullptr);  // until there are policies of this config
  FollowUsage();
  rows().inqueue.Switch(fact.config.enqueue_gate != EnqueueGate::kNone, rows());
  table_.ListIncomplete();
  table_.FollowTerminations();
  ++rows().config_version;
  ++rows().news;
  table_.wake_ups().capacity().Anywhere();
  return absl::OkStatus();
}

}  // namespace tephra
