#include <algorithm>
#include <bit>
#include <tuple>

#include "tests/sidecar/any_event.h"

namespace tephra {
namespace {

bool Equal(const KindsDeclared& a, const KindsDeclared& b) { return a.names == b.names; }
bool Equal(const NodeUpserted& a, const NodeUpserted& b) {
  return a.node == b.node && a.version == b.version;
}
bool Equal(const NodeRemoved& a, const NodeRemoved& b) { return a.name == b.name; }
bool Equal(const QueueUpserted& a, const QueueUpserted& b) {
  return a.queue == b.queue && a.version == b.version;
}
bool Equal(const QueueRemoved& a, const QueueRemoved& b) { return a.name == b.name; }
bool Equal(const JobUpserted& a, const JobUpserted& b) {
  return a.job == b.job && a.version == b.version;
}
bool Equal(const JobRemoved& a, const JobRemoved& b) { return a.uid == b.uid; }
bool Equal(const TaskUpserted& a, const TaskUpserted& b) {
  const auto fields = [](const TaskUpserted& fact) {
    const TaskFact& task = fact.task;
    return std::tie(task.uid, task.job, task.role, task.index, task.phase, task.node, task.slices,
                    task.pod, task.disruption_budgets, task.started, task.checkpointed,
                    task.preemptible, task.priority, task.terminates_by, fact.version);
  };
  return fields(a) == fields(b);
}
bool Equal(const TaskRemoved& a, const TaskRemoved& b) { return a.uid == b.uid; }
bool Equal(const PlacementRefused& a, const PlacementRefused& b) {
  return std::tie(a.job, a.role, a.node, a.why, a.elastic) ==
         std::tie(b.job, b.role, b.node, b.why, b.elastic);
}
bool Equal(const PlanStale& a, const PlanStale& b) {
  return std::tie(a.job, a.why, a.elastic) == std::tie(b.job, b.why, b.elastic);
}
bool Equal(const BindFailed& a, const BindFailed& b) {
  return std::tie(a.job, a.role, a.index, a.node, a.why) ==
         std::tie(b.job, b.role, b.index, b.node, b.why);
}
bool Equal(const MaskUpserted& a, const MaskUpserted& b) {
  return std::tie(a.name, a.excluded_nodes, a.version) ==
         std::tie(b.name, b.excluded_nodes, b.version);
}
bool Equal(const MaskRemoved& a, const MaskRemoved& b) { return a.name == b.name; }
bool Equal(const DomainUpserted& a, const DomainUpserted& b) {
  return a.domain == b.domain && a.version == b.version;
}
bool Equal(const DomainRemoved& a, const DomainRemoved& b) { return a.name == b.name; }
bool Equal(const DisruptionBudgetUpserted& a, const DisruptionBudgetUpserted& b) {
  return std::tie(a.name, a.allowed, a.version) == std::tie(b.name, b.allowed, b.version);
}
bool Equal(const DisruptionBudgetRemoved& a, const DisruptionBudgetRemoved& b) {
  return a.name == b.name;
}
// By their bits, so that a NaN is equal to itself.
bool Equal(const std::vector<RememberedAmount>& a, const std::vector<RememberedAmount>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.kind == y.kind &&
           std::bit_cast<std::uint64_t>(x.spent) == std::bit_cast<std::uint64_t>(y.spent);
  });
}
bool Equal(const MemoryRestored& a, const MemoryRestored& b) {
  const Memory &x = a.memory, &y = b.memory;
  return x.version == y.version && x.at == y.at && x.half_life_ms == y.half_life_ms &&
         std::equal(x.queues.begin(), x.queues.end(), y.queues.begin(), y.queues.end(),
                    [](const RememberedQueue& p, const RememberedQueue& q) {
                      return p.queue == q.queue && Equal(p.spent, q.spent) &&
                             std::equal(p.users.begin(), p.users.end(), q.users.begin(),
                                        q.users.end(), [](const auto& u, const auto& v) {
                                          return u.user == v.user && Equal(u.spent, v.spent);
                                        });
                    });
}
bool Equal(const ConfigChanged& a, const ConfigChanged& b) {
  // Shares by their bits, so that a NaN is equal to itself; the rest by ==.
  EngineConfig x = a.config, y = b.config;
  if (x.expected_pods.size() != y.expected_pods.size()) return false;
  for (std::size_t i = 0; i < x.expected_pods.size(); ++i) {
    double& share = x.expected_pods[i].share;
    double& other = y.expected_pods[i].share;
    if (std::bit_cast<std::uint64_t>(share) != std::bit_cast<std::uint64_t>(other)) return false;
    share = other = 0;
  }
  return x == y;
}

}  // namespace

bool Same(const Event& a, const Event& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& fact) { return Equal(fact, std::get<std::decay_t<decltype(fact)>>(b)); }, a);
}

}  // namespace tephra
