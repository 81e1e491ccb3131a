#include "plugins/framework/state.h"

#include <utility>

#include "plugins/framework/fact_checks.h"
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
  if (status.ok()) ++books_.version;
  return status;
}

Snapshot State::Freeze(TimeMs now) {
  books_.hardware.Settle();
  books_.occupancy.Grow(books_.facts());
  return Snapshot(books_, now, &living_snapshots_);
}

JobId State::FindJob(const std::string& uid) const {
  const auto it = jobs_by_uid_.find(uid);
  return it == jobs_by_uid_.end() ? JobId() : it->second;
}

// --- facts ---------------------------------------------------------------------------------

absl::Status State::On(const KindsDeclared& fact) {
  ResourceKinds grown = books_.kinds;
  for (std::size_t i = 0; i < fact.names.size(); ++i) {
    TEPHRA_ASSIGN_OR_RETURN(const Kind kind, grown.Intern(fact.names[i]));
    if (kind != kFirstExtendedKind + i) {
      return absl::InvalidArgumentError(
          "resource kind \"" + fact.names[i] + "\": declared as number " +
          std::to_string(kFirstExtendedKind + i) + ", known as " + std::to_string(kind));
    }
  }
  const bool more_models = grown.models() != books_.kinds.models();
  books_.kinds = std::move(grown);
  if (more_models) CountModels();
  return absl::OkStatus();
}

// As if the models that are counted by themselves now had been so from the first.
void State::CountModels() {
  books_.classes.CountModels(books_.kinds.models());
  for (std::size_t j = 0; j < books_.jobs.size(); ++j) books_.inqueue.Touch(JobId(j));
  for (Books::Demand& demand : books_.queue_pending) demand = {};
  for (const TaskRow& task : books_.tasks) {
    if (task.phase == TaskPhase::kPending && task.job.valid()) {
      CountDemand(QueueOf(task), task.cls, +1);
    }
  }
  for (std::size_t n = 0; n < books_.hardware.slots(); ++n) {
    const NodeId node(n);
    if (!books_.hardware.present(node)) continue;
    const NodeSpec spec = books_.hardware.spec(node);
    Recharge(node, [&] { books_.hardware.Upsert(spec, books_.kinds.models()); });
  }
  growth_.Anywhere();
  ++books_.news;
}

// Takes the node's tasks off it, applies the change, and puts them back: so charge and undo see
// the same devices and domains whatever changes between them.
template <class Change>
void State::Recharge(NodeId node, Change change) {
  if (books_.tasks_on.size() <= node.index()) books_.tasks_on.resize(node.index() + 1);
  books_.occupancy.Grow(books_.facts());
  const bool was_present = books_.hardware.present(node);
  for (TaskId id : books_.tasks_on[node.index()]) {
    if (was_present) ChargeTask(books_.tasks[id.index()], -1);
  }
  books_.occupancy.ClearDevices(books_.hardware, node);
  change();
  books_.occupancy.ResetNode(books_.facts(), node);
  if (books_.hardware.present(node)) {
    for (TaskId id : books_.tasks_on[node.index()]) ChargeTask(books_.tasks[id.index()], +1);
  }
}

template <class Change>
void State::ChangeNode(NodeId node, Change change) {
  Recharge(node, change);
  if (books_.hardware.present(node)) GuessMissingSlices(node);
  std::erase_if(books_.refused,
                [&](std::uint64_t key) { return static_cast<std::uint32_t>(key) == node.value; });
  growth_.Anywhere();
  ++books_.news;
}

absl::Status State::On(const NodeUpserted& fact) {
  TEPHRA_RETURN_IF_ERROR(ValidateNode(fact.node));
  TEPHRA_RETURN_IF_ERROR(
      CheckNamed(books_.kinds, "node", fact.node.name, fact.node.allocatable.NonZero()));
  if (!Newer(node_versions_, fact.node.name, fact.version)) return absl::OkStatus();
  const NodeId node = books_.hardware.Reserve(fact.node.name);
  if (books_.hardware.present(node) && books_.hardware.spec(node) == fact.node) {
    return absl::OkStatus();
  }
  ChangeNode(node, [&] { books_.hardware.Upsert(fact.node, books_.kinds.models()); });
  return absl::OkStatus();
}

absl::Status State::On(const NodeRemoved& fact) {
  node_versions_.erase(fact.name);
  const NodeId node = books_.hardware.Find(fact.name);
  if (node.valid()) ChangeNode(node, [&] { books_.hardware.Remove(node); });
  return absl::OkStatus();
}

absl::Status State::On(const QueueUpserted& fact) {
  const auto known = queue_versions_.find(fact.queue.name);
  if (known != queue_versions_.end() && fact.version <= known->second) return absl::OkStatus();
  const QueueSpec& queue = fact.queue;
  TEPHRA_RETURN_IF_ERROR(
      CheckDeclared(books_.kinds, "queue", queue.name,
                    queue.limited_kinds | queue.guarantee.NonZero() | queue.deserved.NonZero()));
  const QueueId before = books_.queues.Find(queue.name);
  const auto place = [&](QueueId at) {
    return at.valid() ? std::pair(books_.queues.spec(at).parent, books_.queues.spec(at).guarantee)
                      : std::pair(std::string(), Resources{});
  };
  const auto placed = place(before);
  TEPHRA_RETURN_IF_ERROR(books_.queues.Upsert(queue, books_.kinds));
  queue_versions_[queue.name] = fact.version;
  books_.occupancy.Grow(books_.facts());
  const QueueId id = books_.queues.Find(queue.name);
  if (books_.lines.on()) books_.lines.Rebuild(books_);
  if (before.valid() || books_.queues.has_heirs(queue.name) ||
      !books_.occupancy.AddEmptyQueue(books_.queues, id)) {
    if (!before.valid() || place(id) != placed) books_.occupancy.RollUpQueues(books_.queues);
  }
  growth_.Anywhere();
  ++books_.news;
  return absl::OkStatus();
}

absl::Status State::On(const QueueRemoved& fact) {
  queue_versions_.erase(fact.name);
  books_.queues.Remove(fact.name);
  if (books_.lines.on()) books_.lines.Rebuild(books_);
  books_.occupancy.RollUpQueues(books_.queues);
  growth_.Anywhere();
  ++books_.news;
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
    const NodeId node = books_.hardware.Reserve(name);
    if (excluded.size() <= node.index()) excluded.resize(node.index() + 1);
    excluded[node.index()] = true;
  }
  books_.occupancy.Grow(books_.facts());
  ++books_.news;
  if (books_.masks.Upsert(fact.name, std::move(excluded))) growth_.Anywhere();
  return absl::OkStatus();
}

absl::Status State::On(const MaskRemoved& fact) {
  mask_versions_.erase(fact.name);
  books_.masks.Remove(fact.name);
  return absl::OkStatus();
}

absl::Status State::On(const DomainUpserted& fact) {
  TEPHRA_RETURN_IF_ERROR(ValidateDomain(fact.domain));
  if (Newer(domain_versions_, fact.domain.name, fact.version)) {
    books_.hardware.UpsertDomain(fact.domain);
    growth_.Anywhere();
    ++books_.news;
  }
  return absl::OkStatus();
}

absl::Status State::On(const DomainRemoved& fact) {
  domain_versions_.erase(fact.name);
  books_.hardware.RemoveDomain(fact.name);
  growth_.Anywhere();
  ++books_.news;
  return absl::OkStatus();
}

absl::Status State::On(const DisruptionBudgetUpserted& fact) {
  if (fact.name.empty()) return absl::InvalidArgumentError("disruption budget: name: empty");
  if (fact.allowed < 0) {
    return absl::InvalidArgumentError("disruption budget \"" + fact.name + "\": allowed: " +
                                      std::to_string(fact.allowed) + ", expected 0 or more");
  }
  if (Newer(disruption_budget_versions_, fact.name, fact.version)) {
    books_.disruption_budgets[fact.name] = fact.allowed;
    ++books_.news;
  }
  return absl::OkStatus();
}

absl::Status State::On(const DisruptionBudgetRemoved& fact) {
  disruption_budget_versions_.erase(fact.name);
  books_.disruption_budgets.erase(fact.name);
  ++books_.news;
  return absl::OkStatus();
}

absl::Status State::On(const ConfigChanged& fact) {
  books_.config = fact.config;
  books_.lines.Rebuild(books_);
  FollowUsage();
  books_.inqueue.Switch(fact.config.enqueue_gate != EnqueueGate::kNone, books_);
  ++books_.config_version;
  ++books_.news;
  growth_.Anywhere();
  return absl::OkStatus();
}

}  // namespace tephra
