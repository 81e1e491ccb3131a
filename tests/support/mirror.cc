#include "tests/support/mirror.h"

#include <algorithm>

namespace tephra {
namespace {

bool CountsToMinimum(TaskPhase phase) {
  return phase == TaskPhase::kAssumed || phase == TaskPhase::kRunning ||
         phase == TaskPhase::kSucceeded;
}

int Counted(const MirrorRole& role) {
  return static_cast<int>(std::count_if(role.tasks.begin(), role.tasks.end(), [](const auto& task) {
    return CountsToMinimum(task.phase);
  }));
}

int Pending(const MirrorRole& role) {
  return static_cast<int>(std::count_if(role.tasks.begin(), role.tasks.end(), [](const auto& task) {
    return task.phase == TaskPhase::kPending || task.phase == TaskPhase::kHeld;
  }));
}

// Without a place; it asks for one unless it takes a pod to ask.
void Unplace(const MirrorJob& job, MirrorTask& task) {
  const bool absent = job.spec.pods_exist && task.uid.empty();
  task.phase = absent ? TaskPhase::kAbsent : TaskPhase::kPending;
  task.node.clear();
  task.slices.clear();
  task.evicting = false;
}

template <class Each>
void ForEachTask(MirrorJob& job, Each each) {
  for (auto& [name, role] : job.roles) {
    for (MirrorTask& task : role.tasks) each(task);
  }
}

int CountPhase(MirrorJob& job, TaskPhase phase) {
  int count = 0;
  ForEachTask(job, [&](const MirrorTask& task) { count += task.phase == phase; });
  return count;
}

void LeaveBerth(MirrorTask& task) {
  task.berth.clear();
  task.berth_slices.clear();
}

// What the job's last plan assumed, or only its elastic part.
void TakeBack(MirrorJob& job, int plan, bool elastic_only) {
  ForEachTask(job, [&](MirrorTask& task) {
    const bool part = !elastic_only || task.assumed_part == Part::kElastic;
    if (task.phase == TaskPhase::kAssumed && task.assumed_by == plan && part) Unplace(job, task);
  });
}

}  // namespace

Resources Mirror::Amounts(const MirrorTask& task) const {
  const auto node = nodes_.find(task.node);
  Resources amounts = Room::DeviceAmounts(task.pod, task.slices,
                                          node == nodes_.end() ? nullptr : &node->second, models_);
  for (Kind k : {kCpu, kMemory, kPods}) amounts[k] = PeakOf(task.pod, k);
  return amounts;
}

void Mirror::Resize(const MirrorJob& job, MirrorRole& role, std::size_t replicas,
                    std::map<std::string, MirrorTask>& left_over) {
  while (role.tasks.size() > replicas) {
    MirrorTask& last = role.tasks.back();
    const bool stays = HoldsRoom(last.phase) && last.phase != TaskPhase::kHeld;
    LeaveBerth(last);
    if (!last.uid.empty() && stays) left_over[last.uid] = last;
    role.tasks.pop_back();
  }
  while (role.tasks.size() < replicas) Unplace(job, role.tasks.emplace_back());
}

MirrorTask Mirror::BerthOf(const MirrorRole& role, const MirrorTask& task) {
  MirrorTask berth;
  berth.pod = role.pod;
  berth.node = task.berth;
  berth.slices = task.berth_slices;
  return berth;
}

// A gang that is whole was mended. Nothing is kept for who has a place, or has ended.
void Mirror::Mend() {
  for (auto& [uid, job] : jobs_) {
    ForEachTask(job, [](MirrorTask& task) {
      const bool on_its_way = task.phase == TaskPhase::kReleasing ||
                              task.phase == TaskPhase::kPending ||
                              task.phase == TaskPhase::kAbsent || task.phase == TaskPhase::kFailed;
      if (!on_its_way) LeaveBerth(task);
    });
    if (!Satisfied(job)) continue;
    job.broken = false;
    ForEachTask(job, [&job = job](MirrorTask& task) {
      if (task.phase == TaskPhase::kHeld) Unplace(job, task);
    });
  }
}

void Mirror::Fold(const Event& event) {
  if (const auto* e = std::get_if<NodeUpserted>(&event)) {
    nodes_[e->node.name] = e->node;
  } else if (const auto* e = std::get_if<NodeRemoved>(&event)) {
    nodes_.erase(e->name);
  } else if (const auto* e = std::get_if<QueueUpserted>(&event)) {
    QueueSpec& queue = queues_[e->queue.name] = e->queue;
    // Models are GPUs.
    for (Resources* promise : {&queue.guarantee, &queue.deserved}) {
      if ((*promise)[kGpu] > 0) continue;
      for (const auto& [model, kind] : models_) (*promise)[kGpu] += (*promise)[kind];
    }
  } else if (const auto* e = std::get_if<KindsDeclared>(&event)) {
    for (std::size_t i = 0; i < e->names.size(); ++i) {
      const std::string& name = e->names[i];
      if (name.rfind("gpu.", 0) == 0) {
        models_[name.substr(4)] = static_cast<Kind>(kFirstExtendedKind + i);
      }
    }
  } else if (const auto* e = std::get_if<QueueRemoved>(&event)) {
    queues_.erase(e->name);
  } else if (const auto* e = std::get_if<JobUpserted>(&event)) {
    MirrorJob& job = jobs_[e->job.uid];
    const bool pods_came = e->job.pods_exist && !job.spec.pods_exist;
    job.spec = e->job;
    ForEachTask(job, [&](MirrorTask& task) {
      if (task.phase == TaskPhase::kPending || task.phase == TaskPhase::kAbsent ||
          (pods_came && (task.phase == TaskPhase::kAssumed || task.phase == TaskPhase::kHeld))) {
        Unplace(job, task);
      }
    });
    for (auto& [name, role] : job.roles) {
      const bool named =
          std::any_of(e->job.gang.roles.begin(), e->job.gang.roles.end(),
                      [&name = name](const RoleSpec& spec) { return spec.name == name; });
      if (!named) Resize(job, role, 0, pods_), role.min = 0;
    }
    for (const RoleSpec& spec : e->job.gang.roles) {
      MirrorRole& role = job.roles[spec.name];
      role.min = spec.min;
      for (MirrorTask& task : role.tasks) {
        if (!(spec.pod == role.pod)) LeaveBerth(task);
        if (task.phase == TaskPhase::kHeld && !(spec.pod == role.pod)) Unplace(job, task);
      }
      role.pod = spec.pod;
      Resize(job, role, static_cast<std::size_t>(spec.replicas), pods_);
    }
  } else if (const auto* e = std::get_if<JobRemoved>(&event)) {
    const auto job = jobs_.find(e->uid);
    if (job == jobs_.end()) return;
    for (auto& [name, role] : job->second.roles) Resize(job->second, role, 0, pods_);
    jobs_.erase(job);
  } else if (const auto* e = std::get_if<TaskUpserted>(&event)) {
    const TaskFact& said = e->task;
    MirrorTask* task = nullptr;
    if (said.job.empty()) {
      task = &pods_[said.uid];
      if (said.pod.has_value()) task->pod = *said.pod;
    } else {
      MirrorRole& role = jobs_.at(said.job).roles.at(said.role);
      task = &role.tasks.at(static_cast<std::size_t>(said.index));
      if (said.phase == TaskPhase::kPending &&
          (task->phase == TaskPhase::kAssumed || task->phase == TaskPhase::kHeld)) {
        task->uid = said.uid;
        return;
      }
      if (!HoldsRoom(task->phase)) task->pod = role.pod;
    }
    if (said.phase == TaskPhase::kRunning && task->evicting) return;
    task->uid = said.uid;
    task->evicting = false;
    task->phase = said.phase;
    task->node = HoldsRoom(said.phase) ? said.node : "";
    task->slices = HoldsRoom(said.phase) ? said.slices : Slices{};
  } else if (const auto* e = std::get_if<TaskRemoved>(&event)) {
    if (pods_.erase(e->uid) > 0) return;
    for (auto& [uid, job] : jobs_) {
      for (auto& [name, role] : job.roles) {
        for (MirrorTask& task : role.tasks) {
          if (task.uid != e->uid) continue;
          task.uid.clear();
          if (task.phase != TaskPhase::kSucceeded) Unplace(job, task);
        }
      }
    }
  } else if (const auto* e = std::get_if<PlacementRefused>(&event)) {
    const auto job = jobs_.find(e->job);
    if (job == jobs_.end()) return;
    int plan = 0;
    for (const MirrorTask& task : job->second.roles.at(e->role).tasks) {
      if (task.phase == TaskPhase::kAssumed && task.node == e->node) {
        plan = std::max(plan, task.assumed_by);
      }
    }
    bool elastic = true;
    for (const MirrorTask& task : job->second.roles.at(e->role).tasks) {
      const bool minimum = task.assumed_part == Part::kMinimum && task.assumed_by == plan &&
                           task.phase == TaskPhase::kAssumed && task.node == e->node;
      if (minimum) elastic = e->elastic;
    }
    TakeBack(job->second, plan, elastic);
  } else if (const auto* e = std::get_if<PlanStale>(&event)) {
    const auto job = jobs_.find(e->job);
    if (job == jobs_.end()) return;
    int plan = 0;
    ForEachTask(job->second, [&](const MirrorTask& task) {
      if (task.phase == TaskPhase::kAssumed) plan = std::max(plan, task.assumed_by);
    });
    TakeBack(job->second, plan, e->elastic);
    if (!e->elastic && CountPhase(job->second, TaskPhase::kHeld) > 0) {
      ForEachTask(job->second, [&](MirrorTask& task) {
        if (task.phase == TaskPhase::kHeld) Unplace(job->second, task);
      });
      for (auto& [uid, other] : jobs_) {
        ForEachTask(other, [&](MirrorTask& task) {
          if (!task.evicting || task.evicted_for != e->job) return;
          task.phase = TaskPhase::kRunning;
          task.evicting = false;
        });
      }
    }
  } else if (const auto* e = std::get_if<BindFailed>(&event)) {
    const auto job = jobs_.find(e->job);
    if (job == jobs_.end()) return;
    MirrorTask& task = job->second.roles.at(e->role).tasks.at(static_cast<std::size_t>(e->index));
    if (task.phase != TaskPhase::kAssumed || (!e->node.empty() && task.node != e->node)) return;
    Unplace(job->second, task);
    job->second.broken = true;
  } else if (const auto* e = std::get_if<MaskUpserted>(&event)) {
    masks_[e->name] = {e->excluded_nodes.begin(), e->excluded_nodes.end()};
  } else if (const auto* e = std::get_if<MaskRemoved>(&event)) {
    masks_.erase(e->name);
  }
}

void Mirror::Apply(const Event& event) {
  Fold(event);
  Mend();
}

void Mirror::Expire(TimeMs now, DurationMs timeout) {
  const auto over = [&](const MirrorTask& task) {
    return (task.phase == TaskPhase::kAssumed || task.evicting) && now - task.assumed_at >= timeout;
  };
  for (auto& [uid, known] : jobs_) {
    MirrorJob& job = known;
    ForEachTask(job, [&](MirrorTask& task) {
      if (!over(task)) return;
      if (task.evicting) {
        task.phase = TaskPhase::kRunning;
        task.evicting = false;
        job.broken = true;
      } else {
        Unplace(job, task);
      }
    });
  }
  for (auto& [uid, task] : pods_) {
    if (!over(task)) continue;
    task.phase = task.evicting ? TaskPhase::kRunning : TaskPhase::kFailed;
    task.evicting = false;
  }
  Mend();
}

Room Mirror::Taken(const Room::Masks* masks) const {
  Room room(nodes_, masks, models_);
  for (const auto& [uid, job] : jobs_) {
    for (const auto& [name, role] : job.roles) {
      for (const MirrorTask& task : role.tasks) {
        if (Counts(task.phase)) room.Take(task.pod, task.node, task.slices);
        if (!task.berth.empty()) room.Take(role.pod, task.berth, task.berth_slices);
      }
    }
  }
  for (const auto& [uid, task] : pods_) {
    if (Counts(task.phase)) room.Take(task.pod, task.node, task.slices);
  }
  return room;
}

std::vector<const MirrorRole*> Mirror::RolesOf(const MirrorJob& job,
                                               const std::string& group) const {
  std::vector<const MirrorRole*> roles;
  for (const auto& [name, role] : job.roles) {
    std::string of;
    for (const RoleSpec& spec : job.spec.gang.roles) {
      if (spec.name == name) of = spec.group;
    }
    if (of == group) roles.push_back(&role);
  }
  return roles;
}

bool Mirror::Takes(const MirrorJob& job, const GroupSpec& group) const {
  const std::vector<const MirrorRole*> roles = RolesOf(job, group.name);
  return !group.elastic || std::any_of(roles.begin(), roles.end(),
                                       [](const MirrorRole* role) { return Counted(*role) > 0; });
}

bool Mirror::Satisfied(const MirrorJob& job) const {
  int counted = 0;
  const auto whole = [&](const std::string& group, bool takes, int least) {
    int here = 0;
    for (const MirrorRole* role : RolesOf(job, group)) {
      if (takes && Counted(*role) < role->min) return false;
      here += Counted(*role);
    }
    counted += here;
    return !takes || here >= least;
  };
  if (!whole("", true, 0)) return false;
  for (const GroupSpec& group : job.spec.gang.groups) {
    if (!whole(group.name, Takes(job, group), group.min_member)) return false;
  }
  return counted >= job.spec.gang.min_member;
}

bool Mirror::Missing(const MirrorJob& job, GangWish& wish) const {
  wish = {};
  int all = 0, least = 0, pending = 0;
  for (const auto& [name, role] : job.roles) all += Counted(role);
  const auto add = [&](const std::string& group, int min_member) {
    int counted = 0, of_roles = 0, asking = 0;
    for (const MirrorRole* role : RolesOf(job, group)) {
      const int missing = std::max(0, role->min - Counted(*role));
      counted += Counted(*role);
      of_roles += missing;
      asking += Pending(*role);
      if (missing > Pending(*role)) return false;
      if (Pending(*role) > 0) wish.roles.push_back({role->pod, missing, Pending(*role)});
    }
    const int lacks = std::max(of_roles, min_member - counted);
    least += lacks;
    pending += asking;
    return asking >= lacks;
  };
  bool enough = add("", 0);
  for (const GroupSpec& group : job.spec.gang.groups) {
    if (Takes(job, group)) enough = add(group.name, group.min_member) && enough;
  }
  wish.least = std::max(least, job.spec.gang.min_member - all);
  return enough && pending >= wish.least;
}

std::string Mirror::CheckNo(const NamedDecision& decision, const MirrorJob& job,
                            const GangWish& wish, const Room& room) const {
  switch (decision.reason->obstacle) {
    case Obstacle::kQueueMissing:
    case Obstacle::kQueueClosed:
      return Open(job.spec.queue) ? "waits for a queue that is open" : "";
    case Obstacle::kQueueParent:
      return HasHeirs(job.spec.queue) ? "" : "waits for queues to go that are not there";
    case Obstacle::kSearch:
    case Obstacle::kQueueLimit:
    case Obstacle::kQueueGuarantee:
      return "";
    case Obstacle::kBehind:
      return BehindAnother(decision, job) ? ""
                                          : "waits behind a job that does not wait ahead of it";
    case Obstacle::kRoom:
    case Obstacle::kTogether:
      break;
    default:
      return "says no without a reason that the facts bear out";
  }
  if (room.AnyPlacement(wish)) return "does not start although a placement exists";
  const bool ever = Empty().AnyPlacement(wish);
  if (ever && decision.verdict == Verdict::kInfeasible) {
    return "is called infeasible, but the empty cluster would do";
  }
  if (!ever && decision.verdict == Verdict::kWait) {
    return "is told to wait, but not even the empty cluster would do";
  }
  return "";
}

// A gang that a failed binding left in part, and that has no place for the rest, gives back what
// runs of it, once no other binding of it is under way. Nobody else is evicted.
std::string Mirror::FollowEvictions(const NamedDecision& decision, TimeMs now, MirrorJob& job) {
  const Obstacle why = decision.reason->obstacle;
  const bool unwinds = job.broken && decision.part == Part::kMinimum &&
                       decision.verdict != Verdict::kStart && why != Obstacle::kMembers &&
                       CountPhase(job, TaskPhase::kAssumed) == 0;
  std::set<std::string> expected;
  ForEachTask(job, [&](const MirrorTask& task) {
    if (unwinds && task.phase == TaskPhase::kRunning) expected.insert(task.uid);
  });
  if (expected != std::set<std::string>(decision.evictions.begin(), decision.evictions.end())) {
    return "evicts " + std::to_string(decision.evictions.size()) + " tasks where " +
           std::to_string(expected.size()) + " are to be given back";
  }
  if (expected.empty()) return "";
  job.broken = false;
  ForEachTask(job, [&](MirrorTask& task) {
    if (task.phase != TaskPhase::kRunning) return;
    task.phase = TaskPhase::kReleasing;
    task.evicting = true;
    task.evicted_for = job.spec.uid;
    task.assumed_at = now;
  });
  return "";
}

// The victims may be evicted for the job, and no gang is left in part.
std::string Mirror::FollowVictims(const NamedDecision& decision, TimeMs now, const MirrorJob& job) {
  std::set<std::string> victims(decision.evictions.begin(), decision.evictions.end());
  if (victims.size() != decision.evictions.size()) return "evicts a task twice";
  const bool moves = !decision.moves.empty();
  if (moves && decision.moves.size() != victims.size()) return "moves some that it evicts, not all";
  for (auto& [uid, other] : jobs_) {
    int evicted = 0;
    ForEachTask(other, [&](MirrorTask& task) {
      if (victims.erase(task.uid) == 0) return;
      evicted += task.phase == TaskPhase::kRunning ? 1 : 1000000;
      task.phase = TaskPhase::kReleasing;
      task.evicting = true;
      task.evicted_for = job.spec.uid;
      task.assumed_at = now;
    });
    if (evicted == 0) continue;
    if (evicted >= 1000000) return "evicts a task of " + uid + " that does not run";
    if (!other.spec.preemptible) return "evicts " + uid + ", which is not preemptible";
    const bool same = other.spec.queue == job.spec.queue;
    if (moves && !other.spec.movable) return "moves " + uid + ", which is not to be moved";
    if (!moves && same && other.spec.priority >= job.spec.priority)
      return "evicts its better " + uid;
    if (!moves && !same && !queues_.at(other.spec.queue).reclaimable) {
      return "reclaims from queue " + other.spec.queue;
    }
    if (!Satisfied(other) && (CountPhase(other, TaskPhase::kRunning) > 0 ||
                              CountPhase(other, TaskPhase::kAssumed) > 0)) {
      return "leaves " + uid + " in part";
    }
  }
  return victims.empty() ? "" : "evicts " + *victims.begin() + ", which is no task";
}

// Each has a place to go on beside all that will be there, and its gang whole.
std::string Mirror::FollowMoves(const NamedDecision& decision, Room& room, Room& left) {
  for (const NamedDecision::Move& move : decision.moves) {
    bool found = false;
    for (auto& [uid, job] : jobs_) {
      for (auto& [name, role] : job.roles) {
        for (MirrorTask& task : role.tasks) {
          if (task.uid != move.pod) continue;
          found = true;
          ++moves_;
          if (task.phase != TaskPhase::kReleasing || !task.evicting) return "moves who stays";
          const std::string fault = left.Refuses(role.pod, move.node, move.slices);
          if (!fault.empty()) return "moves " + move.pod + " where it cannot be: " + fault;
          room.Take(role.pod, move.node, move.slices);
          left.Take(role.pod, move.node, move.slices);
          task.berth = move.node;
          task.berth_slices = move.slices;
        }
      }
    }
    if (!found) return "moves " + move.pod + ", which is no task";
  }
  return "";
}

std::string Mirror::FollowOne(const NamedDecision& decision, TimeMs now, Judge judge, Room& room) {
  const auto found = jobs_.find(decision.job);
  if (found == jobs_.end()) return "is not a job";
  MirrorJob& job = found->second;
  GangWish wish;
  const bool enough = Missing(job, wish);
  ++asked_;
  if (decision.reason->obstacle == Obstacle::kSearch) ++searches_ended_;
  const bool later = decision.verdict == Verdict::kStartAfterEviction;
  if (std::string fault =
          later ? FollowVictims(decision, now, job) : FollowEvictions(decision, now, job);
      !fault.empty()) {
    return fault;
  }
  bool moved = false;
  const auto leave = [&](const MirrorRole& role, MirrorTask& task) {
    if (task.berth.empty()) return;
    moved = true;
    room.Take(role.pod, task.berth, task.berth_slices, -1);
    LeaveBerth(task);
  };
  for (const NamedPlacement& placed : decision.placements) {
    MirrorRole& role = job.roles.at(placed.role);
    leave(role, role.tasks.at(static_cast<std::size_t>(placed.index)));
  }
  if (decision.part == Part::kMinimum) {
    // Whatever was set aside for it is decided anew.
    for (auto& [name, role] : job.roles) {
      for (MirrorTask& task : role.tasks) leave(role, task);
    }
    ForEachTask(job, [&](MirrorTask& task) {
      if (task.phase != TaskPhase::kHeld) return;
      room.Take(task.pod, task.node, task.slices, -1);
      Unplace(job, task);
    });
  }
  if (decision.verdict != Verdict::kStart && !later) {
    if (!decision.placements.empty()) return "places tasks without a start";
    if (decision.part == Part::kElastic || judge == Judge::kSoundness) return "";
    if (decision.reason->obstacle == Obstacle::kMembers) {
      return enough ? "waits for members that it has" : "";
    }
    return CheckNo(decision, job, wish, room);
  }
  if (!Open(job.spec.queue)) return "starts in a queue that is not open";
  // One that was moved goes on as it was, elastic members and all.
  const auto least = static_cast<std::size_t>(wish.least);
  if (decision.part == Part::kMinimum && decision.placements.size() != least &&
      !(moved && decision.placements.size() > least)) {
    return "starts " + std::to_string(decision.placements.size()) + " tasks where " +
           std::to_string(wish.least) + " are missing";
  }
  ahead_ = later;
  Room left = Now();
  Resources taken;
  for (const NamedPlacement& placed : decision.placements) {
    MirrorRole& role = job.roles.at(placed.role);
    MirrorTask& task = role.tasks.at(static_cast<std::size_t>(placed.index));
    if (task.phase != TaskPhase::kPending) return "places a task that is not pending";
    const std::string fault = (later ? left : room).Refuses(role.pod, placed.node, placed.slices);
    if (!fault.empty()) return "places " + placed.role + " where it cannot be: " + fault;
    room.Take(role.pod, placed.node, placed.slices);
    left.Take(role.pod, placed.node, placed.slices);
    task = {later ? TaskPhase::kHeld : TaskPhase::kAssumed,
            task.uid,
            placed.node,
            placed.slices,
            role.pod,
            now,
            plans_,
            decision.part,
            false};
    taken.Add(Amounts(task));
  }
  if (!later && !Satisfied(job)) return "runs below its minimum";
  std::string fault = FollowMoves(decision, room, left);
  if (fault.empty()) fault = CheckQueues(decision.job, taken);
  if (fault.empty()) fault = CheckKept(decision.job, taken);
  ahead_ = false;
  return fault;
}

// A gang that still waits after a cycle has no placement beside what was decided.
std::string Mirror::CheckLeftWaiting(const Room& room) const {
  for (const auto& [uid, job] : jobs_) {
    GangWish wish;
    if (!Open(job.spec.queue)) continue;
    const bool moves = std::any_of(job.roles.begin(), job.roles.end(), [](const auto& role) {
      return std::any_of(role.second.tasks.begin(), role.second.tasks.end(),
                         [](const MirrorTask& task) { return !task.berth.empty(); });
    });
    if (moves) continue;
    if (!Satisfied(job)) {
      if (Missing(job, wish) && room.AnyPlacement(wish)) {
        return "job " + uid + " was left waiting although a placement exists";
      }
      continue;
    }
    for (const auto& [name, role] : job.roles) {
      if (Pending(role) > 0 && room.AnyPlacement({{{role.pod, 1, 1}}, 1})) {
        return "job " + uid + " role " + name + ": an elastic member was left waiting";
      }
    }
  }
  return "";
}

std::string Mirror::Follow(const NamedPlan& plan, TimeMs now, Judge judge) {
  Room room = Now();
  ++plans_;
  if (!plan.dropped.empty()) return "job " + plan.dropped[0] + ": its decision was dropped";
  const int ended_before = searches_ended_;
  for (const NamedDecision& decision : plan.decisions) {
    const std::string fault = FollowOne(decision, now, judge, room);
    if (!fault.empty()) return "job " + decision.job + " " + fault;
  }
  Mend();
  // A gang given up on may have a placement, and is not asked again until something changes.
  if (judge == Judge::kExactness && searches_ended_ == ended_before) return CheckLeftWaiting(room);
  return "";
}

}  // namespace tephra
