#include "tests/support/eviction_oracle.h"

#include <algorithm>

#include "plugins/fairshare/fair_shares.h"
#include "plugins/preemption/victim_cost.h"

namespace tephra {
namespace {

constexpr std::size_t kMostSets = 20000;  // of victims, tried for one gang

}  // namespace

EvictionOracle::EvictionOracle(const Books& books, TimeMs now)
    : shares_(FairShares().Of(books)),
      queues_(books.queues),
      reclaim_(books.config.lost_work),
      now_(now),
      allowed_(books.disruption_budgets.begin(), books.disruption_budgets.end()) {
  std::int32_t living = 0;
  const Snapshot snapshot(books, now, &living);
  const VictimCost costs(books.config);
  for (std::size_t t = 0; t < books.tasks.size(); ++t) {
    const TaskRow& task = books.tasks[t];
    if (!task.job.valid() || task.phase != TaskPhase::kRunning) continue;
    budgets_[task.uid] = task.disruption_budgets;
    const auto cost = costs.Cost(snapshot, shares_, TaskId(t));
    if (cost.has_value()) costs_[task.uid] = *cost;
    const std::int64_t size = std::max<std::int64_t>(books.classes[task.cls].demand[kGpu], 100);
    const int evictions = books.jobs[task.job.index()].evictions;
    losses_[task.uid] =
        size * ((now - task.started + reclaim_.restart_cost_ms) / kSecondMs) << evictions;
  }
}

EvictionOracle::Verdict EvictionOracle::Best(const Mirror& mirror, const std::string& preemptor,
                                             const std::set<std::string>& placed,
                                             const std::set<std::string>& evicted) {
  evicted_ = evicted;
  by_deserved_ = false;
  const Verdict by_share = BestBy(mirror, preemptor, placed);
  if (by_share.possible || by_share.given_up) return by_share;
  by_deserved_ = true;
  return BestBy(mirror, preemptor, placed);
}

EvictionOracle::Verdict EvictionOracle::BestBy(const Mirror& mirror, const std::string& preemptor,
                                               const std::set<std::string>& placed) {
  mirror_ = &mirror;
  const MirrorJob& job = mirror.jobs().at(preemptor);
  GangWish wish;
  if (!mirror.Missing(job, wish)) return {};
  asked_ = Resources{};
  for (const RoleWish& role : wish.roles) {
    const int least = wish.roles.size() == 1 ? wish.least : role.least;
    asked_.Add(Demand(role.pod), least);
  }
  std::vector<Option> none = {{}};
  std::vector<std::vector<Option>> jobs;
  std::size_t sets = 1;
  for (const auto& [uid, other] : mirror.jobs()) {
    if (uid == preemptor || placed.contains(uid)) continue;
    std::vector<Option> options = Options(job, other);
    sets *= options.size();
    if (sets > kMostSets) return {false, true, {}};
    if (options.size() > 1) jobs.push_back(std::move(options));
  }
  std::vector<Option> all = none;
  for (const std::vector<Option>& options : jobs) {
    std::vector<Option> grown;
    for (const Option& so_far : all) {
      for (const Option& one : options) {
        Option both = so_far;
        both.cost += one.cost;
        both.parts.insert(both.parts.end(), one.parts.begin(), one.parts.end());
        grown.push_back(std::move(both));
      }
    }
    all = std::move(grown);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Option& a, const Option& b) { return a.cost < b.cost; });
  for (const Option& one : all) {
    if (Allowed(job, one) && Worthwhile(job, one) && Affordable(one) && Fits(job, wish, one))
      return {true, false, one.cost};
  }
  return {};
}

Resources EvictionOracle::Demand(const PodTemplate& pod) const {
  Resources demand;
  for (Kind k : {kCpu, kMemory, kPods}) demand[k] = PeakOf(pod, k);
  for (const ContainerSpec& container : pod.containers) {
    demand[kGpu] += std::int64_t{container.devices.count} * container.devices.compute;
    if (!container.devices.whole()) {
      demand[kGpuMemory] += std::int64_t{container.devices.count} * container.devices.memory_mib;
    }
  }
  for (const auto& [model, kind] : mirror_->models()) {
    if (pod.constraints.device_models == std::vector{model}) demand[kind] = demand[kGpu];
  }
  return demand;
}

Resources EvictionOracle::Held(const std::string& queue) const {
  Resources sum;
  for (const auto& [uid, job] : mirror_->jobs()) {
    bool under = false;
    for (std::string at = job.spec.queue; mirror_->queues().contains(at);
         at = mirror_->queues().at(at).parent) {
      under = under || at == queue;
    }
    if (!under) continue;
    for (const auto& [name, role] : job.roles) {
      for (const MirrorTask& task : role.tasks) {
        if (HoldsRoom(task.phase) && (task.phase != TaskPhase::kReleasing || task.stuck)) sum.Add(HoldsOf(task));
      }
    }
  }
  return sum;
}

std::int64_t EvictionOracle::ShareOf(const std::string& queue, Kind kind, bool by_deserved) const {
  const QueueSpec& spec = mirror_->queues().at(queue);
  std::int64_t share = shares_.share[queues_.Find(queue).index()][kind];
  if (share != Share::kNotShared) {
    const std::int64_t entitled = std::max(spec.guarantee[kind], spec.deserved[kind]);
    share = std::max(share, std::min(entitled, shares_.demand[queues_.Find(queue).index()][kind]));
  }
  return by_deserved ? spec.deserved[kind] : share;
}

bool EvictionOracle::Counts(const std::string& mine, Kind kind) const {
  return asked_[kind] > 0 && (!by_deserved_ || mirror_->queues().at(mine).deserved[kind] > 0);
}

std::vector<std::string> EvictionOracle::Path(std::string queue) const {
  std::vector<std::string> path;
  for (; mirror_->queues().contains(queue); queue = mirror_->queues().at(queue).parent) {
    path.push_back(queue);
  }
  return path;
}

std::set<Kind> EvictionOracle::Scarce(const std::string& mine, const std::string& parent) const {
  std::set<Kind> scarce;
  for (Kind k = 0; k < kMaxKinds; ++k) {
    if (!Counts(mine, k)) continue;
    if (by_deserved_) scarce.insert(k);
    for (const auto& [name, spec] : mirror_->queues()) {
      const std::string up = mirror_->queues().contains(spec.parent) ? spec.parent : "";
      const std::int64_t share = shares_.share[queues_.Find(name).index()][k];
      if (up == parent && share != Share::kNotShared &&
          share < shares_.demand[queues_.Find(name).index()][k]) {
        scarce.insert(k);
      }
    }
  }
  // A job that asks for GPUs by their models, which its queue deserves, takes these models.
  std::int64_t named = 0;
  bool covered = by_deserved_;
  for (const auto& [model, kind] : mirror_->models()) {
    named += asked_[kind];
    covered = covered && (asked_[kind] == 0 || scarce.contains(kind));
  }
  if (named > 0 && named == asked_[kGpu] && covered) scarce.erase(kGpu);
  return scarce;
}

std::vector<std::string> EvictionOracle::Side(const std::string& mine,
                                              const std::string& theirs) const {
  const std::vector<std::string> a = Path(mine), b = Path(theirs);
  const std::set<std::string> above(a.begin(), a.end());
  std::vector<std::string> side;
  std::string common;
  for (const std::string& queue : b) {
    if (above.contains(queue)) {
      common = queue;
      break;
    }
    side.push_back(queue);
  }
  if (side.empty() || common == mine) return {};
  for (const std::string& queue : side) {
    if (!mirror_->queues().at(queue).reclaimable) return {};
  }
  return side;
}

std::string EvictionOracle::Above(const std::string& queue) const {
  const std::string up = mirror_->queues().at(queue).parent;
  return mirror_->queues().contains(up) ? up : "";
}

bool EvictionOracle::Over(const std::vector<std::string>& side, Kind kind) const {
  return std::all_of(side.begin(), side.end(), [&](const std::string& queue) {
    const std::int64_t own = Protected(queue, side, kind);
    return own != Share::kNotShared && Held(queue)[kind] > own;
  });
}

std::int64_t EvictionOracle::Protected(const std::string& queue, const std::vector<std::string>& side, Kind kind) const {
  if (by_deserved_ || queue == side.back()) return ShareOf(queue, kind, by_deserved_);
  return shares_.own_above[queues_.Find(queue).index()][kind];
}

std::vector<EvictionOracle::Option> EvictionOracle::Options(const MirrorJob& job,
                                                            const MirrorJob& other) const {
  std::vector<Option> options = {{}};
  struct One {
    const MirrorTask* task;
    std::string role;
  };
  std::vector<One> tasks;
  int running = 0, held = 0, counted = 0;
  std::map<std::string, int> role_counted;
  for (const auto& [name, role] : other.roles) {
    for (const MirrorTask& task : role.tasks) {
      running += task.phase == TaskPhase::kRunning || task.phase == TaskPhase::kAssumed;
      held += task.phase == TaskPhase::kReserved;
      if (task.phase == TaskPhase::kRunning || task.phase == TaskPhase::kSucceeded ||
          task.phase == TaskPhase::kAssumed) {
        ++counted, ++role_counted[name];
      }
      if (MayTake(job, other, task)) tasks.push_back({&task, name});
    }
  }
  // Tasks that hold nothing scarce go only with the rest of their gang.
  if (!tasks.empty() && job.spec.queue != other.spec.queue && !(mirror_->Satisfied(other) && counted > other.spec.gang.min_member)) {
    for (const auto& [name, role] : other.roles) {
      for (const MirrorTask& task : role.tasks) {
        if (task.phase == TaskPhase::kRunning && costs_.contains(task.uid) && HoldsNothingScarce(job, other, task)) tasks.push_back({&task, name});
      }
    }
  }
  if (held > 0 || !other.spec.preemptible) return options;
  const bool whole = mirror_->Satisfied(other);
  const bool one_by_one = whole && counted > other.spec.gang.min_member;
  std::int64_t loss_of_all = 0;
  for (const auto& [name, role] : other.roles) {
    for (const MirrorTask& task : role.tasks) {
      if (task.phase != TaskPhase::kRunning || !costs_.contains(task.uid)) continue;
      loss_of_all += losses_.at(task.uid);
    }
  }
  for (unsigned set = 1; set < 1u << tasks.size(); ++set) {
    std::map<std::string, int> gone;
    int count = 0;
    Option option;
    Part& part = option.parts.emplace_back();
    part.queue = other.spec.queue;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if ((set >> i & 1u) == 0) continue;
      ++count, ++gone[tasks[i].role];
      option.cost += {0, 1, costs_.at(tasks[i].task->uid)};
      const Resources holds = HoldsOf(*tasks[i].task);
      part.holds.Add(holds);
      part.largest = Resources::Max(part.largest, holds);
      part.uids.push_back(tasks[i].task->uid);
      const std::int64_t loss = losses_.at(tasks[i].task->uid);
      part.loss += loss;
      part.largest_loss = std::max(part.largest_loss, one_by_one ? loss : loss_of_all);
    }
    bool lives = whole && counted - count >= other.spec.gang.min_member;
    for (const auto& [role, number] : gone) {
      lives = lives && role_counted.at(role) - number >= other.roles.at(role).min;
    }
    if (!lives) {
      if (count != running) continue;
      option.cost.gangs = EvictionCost::kGang;
      // Its minimum goes last, and is the least that it could be: in each kind the smallest.
      const int last = std::max(running - std::max(counted - other.spec.gang.min_member, 0), 0);
      for (Kind k = 0; k < kMaxKinds; ++k) {
        std::vector<std::int64_t> amounts;
        for (const One& one : tasks) amounts.push_back(HoldsOf(*one.task)[k]);
        std::sort(amounts.begin(), amounts.end());
        std::int64_t minimum = 0;
        for (int i = 0; i < (whole ? last : running); ++i) {
          minimum += amounts[static_cast<std::size_t>(i)];
        }
        part.largest[k] = std::max(part.largest[k], minimum);
      }
    }
    options.push_back(std::move(option));
  }
  return options;
}

bool EvictionOracle::Allowed(const MirrorJob& job, const Option& option) const {
  struct Loss {
    Part part;
    std::vector<std::string> side;
    std::set<Kind> judged;
  };
  std::map<std::string, Loss> losses;
  for (const Part& part : option.parts) {
    if (part.queue == job.spec.queue) continue;
    const std::vector<std::string> side = Side(job.spec.queue, part.queue);
    for (const std::string& queue : side) {
      Loss& loss = losses[queue];
      loss.side = side;
      loss.part.holds.Add(part.holds);
      loss.part.largest = Resources::Max(loss.part.largest, part.largest);
      for (const Kind k : Scarce(job.spec.queue, Above(side.back()))) {
        if (!by_deserved_ || Over(side, k)) loss.judged.insert(k);
      }
    }
  }
  for (const auto& [queue, loss] : losses) {
    const Resources held = Held(queue);
    for (const Kind k : loss.judged) {
      if (loss.part.holds[k] == 0) continue;
      const std::int64_t own = Protected(queue, loss.side, k);
      if (own == Share::kNotShared) return false;
      if (held[k] - loss.part.holds[k] + loss.part.largest[k] <= own) return false;
    }
  }
  // Its own queues stay within what is theirs, for as far up as it reclaims.
  std::set<std::string> judged;
  for (const Part& part : option.parts) {
    if (part.queue == job.spec.queue) continue;
    const std::vector<std::string> theirs = Path(part.queue);
    for (const std::string& queue : Path(job.spec.queue)) {
      if (std::find(theirs.begin(), theirs.end(), queue) != theirs.end()) break;
      judged.insert(queue);
    }
  }
  for (const std::string& queue : judged) {
    Resources held = Held(queue);
    for (const Part& part : option.parts) {
      const std::vector<std::string> theirs = Path(part.queue);
      if (std::find(theirs.begin(), theirs.end(), queue) != theirs.end()) {
        held.Add(part.holds, -1);
      }
    }
    for (Kind k = 0; k < kMaxKinds; ++k) {
      // Of kinds that it does not deserve it may have its share.
      const std::int64_t share = ShareOf(queue, k, by_deserved_ && Counts(job.spec.queue, k));
      if (asked_[k] == 0 || share == Share::kNotShared) continue;
      if (held[k] + asked_[k] > share) return false;
    }
  }
  return true;
}

bool EvictionOracle::Affordable(const Option& option) const {
  std::map<std::string, std::int32_t> drawn;
  const auto draw = [&](const std::string& pod) {
    for (const std::string& budget : budgets_.at(pod)) ++drawn[budget];
  };
  for (const Part& part : option.parts) std::for_each(part.uids.begin(), part.uids.end(), draw);
  const std::map<std::string, std::int32_t> own = drawn;
  std::for_each(evicted_.begin(), evicted_.end(), draw);
  return std::all_of(own.begin(), own.end(), [&](const auto& one) {
    const auto budget = allowed_.find(one.first);
    return budget == allowed_.end() || drawn.at(one.first) <= budget->second;
  });
}

bool EvictionOracle::Fits(const MirrorJob& job, const GangWish& wish, const Option& option) const {
  std::set<std::string> gone;
  std::map<std::string, Resources> freed;
  for (const Part& part : option.parts) {
    gone.insert(part.uids.begin(), part.uids.end());
    for (const std::string& queue : Path(part.queue)) freed[queue].Add(part.holds);
  }
  for (const std::string& queue : Path(job.spec.queue)) {
    const QueueSpec& spec = mirror_->queues().at(queue);
    const Resources held = Held(queue);
    for (Kind k = 0; k < kMaxKinds; ++k) {
      if ((spec.limited_kinds >> k & 1u) == 0 || asked_[k] == 0) continue;
      if (held[k] - freed[queue][k] + asked_[k] > spec.limit[k]) return false;
    }
  }
  if (!mirror_->CheckDeserved(job.spec.uid, {}, asked_).empty()) return false;
  Room room(mirror_->nodes());
  for (const auto& [uid, other] : mirror_->jobs()) {
    for (const auto& [name, role] : other.roles) {
      for (const MirrorTask& task : role.tasks) {
        if (!HoldsRoom(task.phase) || (task.phase == TaskPhase::kReleasing && !task.stuck)) continue;
        if (!gone.contains(task.uid) || task.uid.empty()) {
          room.Take(task.pod, task.node, task.slices);
        }
      }
    }
  }
  return room.AnyPlacement(wish);
}

}  // namespace tephra
