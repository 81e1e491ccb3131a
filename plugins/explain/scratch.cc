#include "plugins/explain/scratch.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "topology/base/check.h"

namespace tephra {
namespace {

// Counts the steps of a placer.
class CountedPlacer final : public Placer {
 public:
  CountedPlacer(std::unique_ptr<Placer> placer, std::int32_t& steps_left)
      : placer_(std::move(placer)), steps_left_(steps_left) {}
  Answer Place(Workbench& bench, const GangAsk& ask) const override {
    Answer answer = placer_->Place(bench, ask);
    steps_left_ -= std::min(answer.steps, steps_left_);
    return answer;
  }

 private:
  std::unique_ptr<Placer> placer_;
  std::int32_t& steps_left_;
};

// Whether all devices of the cluster have equal memory.
bool EqualMemory(const Hardware& hardware) {
  std::set<std::int32_t> sizes;
  for (const NodeId node : hardware.ranked()) {
    for (const DeviceHardware& device : hardware.spec(node).devices)
      sizes.insert(device.memory_mib);
  }
  return sizes.size() <= 1;
}

}  // namespace

Scratch::Scratch(const State& state, const Assembly& assembly, JobId job, TimeMs now)
    : assembly_(assembly), state_(state), job_(job), now_(now) {
  EngineConfig config = books().config;
  steps_left_ = std::max(config.search_budget, 1);
  config.enqueue_gate = EnqueueGate::kNone;
  config.disabled_actions.insert(config.disabled_actions.end(), {"reclaim", "preempt"});
  TEPHRA_CHECK(state_.Apply(ConfigChanged{config}).ok());
  score_ = assembly_.score(config, books(), nullptr);
  const QueueId queue = books().jobs[job.index()].queue;
  if (books().queues.present(queue) && books().queues.spec(queue).dequeue == Dequeue::kFifo) {
    QueueSpec spec = books().queues.spec(queue);
    spec.dequeue = Dequeue::kTraverse;
    TEPHRA_CHECK(state_.Apply(QueueUpserted{spec, version_++}).ok());
  }
}

Scratch::Result Scratch::Try(const std::vector<Change>& changes) {
  Result result;
  result.unknown = true;
  if (ended()) return result;
  const WhatIf what = FactsOf(books(), job_, changes, version_);
  version_ += 2;
  ++trials_;
  work_ += 1 + static_cast<std::int32_t>(what.facts.size()) / kFactsAsOneTrial;
  // A change of the node clears its rejections, and that cannot be undone.
  const bool forgets = std::any_of(changes.begin(), changes.end(), [](const Change& change) {
    return change.misfit == Misfit::kRefused;
  });
  if (forgets) return TryOnCopy(what.facts);
  if (Apply(what.facts)) result = Ask();
  TEPHRA_CHECK(Apply(what.back));
  return result;
}

// Tries on a copy of the State that is thrown away, with everything derived from it.
Scratch::Result Scratch::TryOnCopy(const std::vector<Event>& facts) {
  Result result;
  result.unknown = true;
  State before = state_;
  tools_ = std::make_unique<CycleTools>();
  if (Apply(facts)) result = Ask();
  state_ = std::move(before);
  tools_ = std::make_unique<CycleTools>();
  return result;
}

bool Scratch::Apply(const std::vector<Event>& facts) {
  return std::all_of(facts.begin(), facts.end(),
                     [&](const Event& fact) { return state_.Apply(fact).ok(); });
}

Policies Scratch::PoliciesOf(const Snapshot& snapshot) {
  EngineConfig config = snapshot.config();
  config.search_budget = std::min(config.search_budget, steps_left_);
  Policies policies = assembly_.policies(config, score_);
  policies.placer = std::make_unique<CountedPlacer>(std::move(policies.placer), steps_left_);
  return policies;
}

// A quota that denies the gang one GPU model may allow a mix of models. On other devices, whole
// devices may count less memory.
bool Scratch::MayBeElsewhere(const Reason& reason) const {
  const bool quota = IsQuota(reason.obstacle);
  const bool memory = reason.binding == kGpuMemory && !EqualMemory(books().hardware);
  if (!quota || !(memory || books().kinds.CountsModel(reason.binding))) return false;
  const std::vector<RoleRow>& roles = books().jobs[job_.index()].roles;
  return std::any_of(roles.begin(), roles.end(), [&](const RoleRow& role) {
    const TaskClass& cls = books().classes[role.cls];
    return memory ? cls.whole_gpus > 0 : cls.needs_devices() && cls.model_kinds == 0;
  });
}

Scratch::Result Scratch::Ask() {
  const Snapshot snapshot = state_.Freeze(now_);
  const Policies policies = PoliciesOf(snapshot);
  const Plan plan = RunCycle(snapshot, policies, assembly_.actions, {{job_}, {}}, *tools_, nullptr);
  Result result;
  result.unknown = true;
  for (const Decision& decision : plan.decisions) {
    if (decision.job != job_ || decision.part != Part::kMinimum) continue;
    result.starts = decision.verdict == Verdict::kStart;
    result.verdict = decision.verdict;
    result.reason = decision.reason;
    result.unknown =
        decision.reason->obstacle == Obstacle::kSearch || MayBeElsewhere(decision.reason);
  }
  // The State does not assume the plan, so the bench must not either.
  for (const Decision& decision : plan.decisions) {
    const QueueId queue = snapshot.job(decision.job).queue;
    for (const Placement& placement : decision.placements) {
      tools_->now.ledger().Uncharge(snapshot.task(placement.task).cls, queue, placement);
    }
  }
  return result;
}

std::vector<NodeId> Scratch::NodesShut(ClassId cls, Misfit why) {
  const Snapshot snapshot = state_.Freeze(now_);
  const Policies policies = PoliciesOf(snapshot);
  tools_->now.Begin(snapshot, policies);
  const Ranking& ranking = tools_->now.rankings().For(cls);
  const auto& ranked = snapshot.hardware().ranked();
  std::vector<std::pair<std::int32_t, NodeId>> found;
  for (std::uint32_t rank = 0; rank < ranked.size(); ++rank) {
    if (ranking.misfit(rank) != why) continue;
    const std::int32_t copies =
        policies.fit->Copies(tools_->now.ledger().View(ranked[rank]), snapshot.cls(cls),
                             std::numeric_limits<std::int32_t>::max());
    found.emplace_back(copies, ranked[rank]);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<NodeId> nodes;
  for (const auto& [copies, node] : found) nodes.push_back(node);
  return nodes;
}

NodeId Scratch::BestKind(ClassId cls) {
  const Snapshot snapshot = state_.Freeze(now_);
  const Policies policies = PoliciesOf(snapshot);
  tools_->empty.Begin(snapshot, policies);
  const Ranking& ranking = tools_->empty.rankings().For(cls);
  const Hardware& hardware = snapshot.hardware();
  NodeId best;
  std::int32_t most = 0;
  for (std::uint32_t rank = 0; rank < hardware.ranked().size(); ++rank) {
    if (ranking.misfit(rank) != Misfit::kFits) continue;
    const NodeId node = hardware.ranked()[rank];
    // A copy of this node may be excluded for the same cause.
    if (books().masks.Exclude(snapshot.cls(cls).pod.constraints.mask, node)) continue;
    if (books().refused.contains(RefusalKey(cls, node))) continue;
    const std::int32_t copies =
        policies.fit->Copies(tools_->empty.ledger().View(node), snapshot.cls(cls),
                             std::numeric_limits<std::int32_t>::max());
    const bool better =
        copies > most || (copies == most && best.valid() &&
                          hardware.capacity(node)[kGpu] < hardware.capacity(best)[kGpu]);
    if (better) best = node, most = copies;
  }
  return best;
}

}  // namespace tephra
