#include "tests/support/mirror.h"

#include <algorithm>

#include "tests/support/mirror_tasks.h"

namespace tephra {
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
    const bool stays = HoldsRoom(last.phase) && last.phase != TaskPhase::kReserved;
    mirror_tasks::DropReservation(last);
    if (!last.uid.empty() && stays) left_over[last.uid] = last;
    role.tasks.pop_back();
  }
  while (role.tasks.size() < replicas) mirror_tasks::Unplace(job, role.tasks.emplace_back());
}

MirrorTask Mirror::ReservationOf(const MirrorRole& role, const MirrorTask& task) {
  MirrorTask reservation;
  reservation.pod = role.pod;
  reservation.node = task.reserved_node;
  reservation.slices = task.reserved_slices;
  return reservation;
}

// A complete gang is no longer broken. A task that has a place, or has ended, has no reservation.
void Mirror::Mend() {
  for (auto& [uid, job] : jobs_) {
    mirror_tasks::ForEachTask(job, [](MirrorTask& task) {
      const bool on_its_way = task.phase == TaskPhase::kReleasing ||
                              task.phase == TaskPhase::kPending ||
                              task.phase == TaskPhase::kAbsent || task.phase == TaskPhase::kFailed;
      if (!on_its_way) mirror_tasks::DropReservation(task);
    });
    if (!Satisfied(job)) continue;
    job.broken = false;
    mirror_tasks::ForEachTask(job, [&job = job](MirrorTask& task) {
      if (task.phase == TaskPhase::kReserved) mirror_tasks::Unplace(job, task);
    });
  }
}

void Mirror::NoteStuck(TimeMs now) {
  const auto note = [&](MirrorTask& task) {
    task.stuck = task.phase == TaskPhase::kReleasing && task.terminates_by > 0 && stuck_pod_timeout_ms_ > 0 &&
                 now - task.terminates_by >= stuck_pod_timeout_ms_;
  };
  for (auto& [uid, job] : jobs_) mirror_tasks::ForEachTask(job, note);
  for (auto& [uid, task] : pods_) note(task);
}

void Mirror::Fold(const Event& event) {
  if (const auto* e = std::get_if<ConfigChanged>(&event)) {
    stuck_pod_timeout_ms_ = e->config.stuck_pod_timeout_ms;
  } else if (const auto* e = std::get_if<NodeUpserted>(&event)) {
    nodes_[e->node.name] = e->node;
  } else if (const auto* e = std::get_if<NodeRemoved>(&event)) {
    nodes_.erase(e->name);
  } else if (const auto* e = std::get_if<QueueUpserted>(&event)) {
    QueueSpec& queue = queues_[e->queue.name] = e->queue;
    // Models are GPUs.
    for (Resources* quota : {&queue.guarantee, &queue.deserved}) {
      if ((*quota)[kGpu] > 0) continue;
      for (const auto& [model, kind] : models_) (*quota)[kGpu] += (*quota)[kind];
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
    mirror_tasks::ForEachTask(job, [&](MirrorTask& task) {
      if (task.phase == TaskPhase::kPending || task.phase == TaskPhase::kAbsent ||
          (pods_came && (task.phase == TaskPhase::kAssumed || task.phase == TaskPhase::kReserved))) {
        mirror_tasks::Unplace(job, task);
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
        if (!(spec.pod == role.pod)) mirror_tasks::DropReservation(task);
        if (task.phase == TaskPhase::kReserved && !(spec.pod == role.pod)) mirror_tasks::Unplace(job, task);
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
          (task->phase == TaskPhase::kAssumed || task->phase == TaskPhase::kReserved)) {
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
    task->terminates_by = said.terminates_by;
    task->stuck = false;
  } else if (const auto* e = std::get_if<TaskRemoved>(&event)) {
    if (pods_.erase(e->uid) > 0) return;
    for (auto& [uid, job] : jobs_) {
      for (auto& [name, role] : job.roles) {
        for (MirrorTask& task : role.tasks) {
          if (task.uid != e->uid) continue;
          task.uid.clear();
          if (task.phase != TaskPhase::kSucceeded) mirror_tasks::Unplace(job, task);
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
    mirror_tasks::TakeBack(job->second, plan, elastic);
  } else if (const auto* e = std::get_if<PlanStale>(&event)) {
    const auto job = jobs_.find(e->job);
    if (job == jobs_.end()) return;
    int plan = 0;
    mirror_tasks::ForEachTask(job->second, [&](const MirrorTask& task) {
      if (task.phase == TaskPhase::kAssumed) plan = std::max(plan, task.assumed_by);
    });
    mirror_tasks::TakeBack(job->second, plan, e->elastic);
    if (!e->elastic && mirror_tasks::CountPhase(job->second, TaskPhase::kReserved) > 0) {
      mirror_tasks::ForEachTask(job->second, [&](MirrorTask& task) {
        if (task.phase == TaskPhase::kReserved) mirror_tasks::Unplace(job->second, task);
      });
      for (auto& [uid, other] : jobs_) {
        mirror_tasks::ForEachTask(other, [&](MirrorTask& task) {
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
    mirror_tasks::Unplace(job->second, task);
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
    mirror_tasks::ForEachTask(job, [&](MirrorTask& task) {
      if (!over(task)) return;
      if (task.evicting) {
        task.phase = TaskPhase::kRunning;
        task.evicting = false;
        job.broken = true;
      } else {
        mirror_tasks::Unplace(job, task);
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
        if (Counts(task)) room.Take(task.pod, task.node, task.slices);
        if (!task.reserved_node.empty()) room.Take(role.pod, task.reserved_node, task.reserved_slices);
      }
    }
  }
  for (const auto& [uid, task] : pods_) {
    if (Counts(task)) room.Take(task.pod, task.node, task.slices);
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

int Mirror::CountedIn(const MirrorJob& job, const std::string& group) const {
  int counted = 0;
  for (const MirrorRole* role : RolesOf(job, group)) counted += mirror_tasks::Counted(*role);
  for (const GroupSpec& inner : job.spec.gang.groups) {
    if (inner.parent == group) counted += CountedIn(job, inner.name);
  }
  return counted;
}

bool Mirror::Needs(const MirrorJob& job, const GroupSpec& group) const {
  return !group.elastic || CountedIn(job, group.name) > 0;
}

bool Mirror::IsWhole(const MirrorJob& job, const std::string& group, int least) const {
  for (const MirrorRole* role : RolesOf(job, group)) {
    if (mirror_tasks::Counted(*role) < role->min) return false;
  }
  for (const GroupSpec& inner : job.spec.gang.groups) {
    if (inner.parent != group || !Needs(job, inner)) continue;
    if (!IsWhole(job, inner.name, inner.min_member)) return false;
  }
  return CountedIn(job, group) >= least;
}

bool Mirror::Satisfied(const MirrorJob& job) const {
  return IsWhole(job, "", job.spec.gang.min_member);
}

bool Mirror::AddMissing(const MirrorJob& job, const std::string& group, int min_member,
                        MirrorLack& lack, GangWish& wish) const {
  bool enough = true;
  for (const MirrorRole* role : RolesOf(job, group)) {
    const int missing = std::max(0, role->min - mirror_tasks::Counted(*role));
    const int asking = mirror_tasks::Pending(*role);
    lack.tasks += missing;
    lack.asking += asking;
    enough = enough && missing <= asking;
    if (asking > 0) wish.roles.push_back({role->pod, missing, asking});
  }
  for (const GroupSpec& inner : job.spec.gang.groups) {
    if (inner.parent != group || !Needs(job, inner)) continue;
    MirrorLack of_inner;
    enough = AddMissing(job, inner.name, inner.min_member, of_inner, wish) && enough;
    lack.tasks += of_inner.tasks;
    lack.asking += of_inner.asking;
  }
  lack.tasks = std::max(lack.tasks, min_member - CountedIn(job, group));
  return enough && lack.asking >= lack.tasks;
}

bool Mirror::Missing(const MirrorJob& job, GangWish& wish) const {
  wish = {};
  MirrorLack lack;
  const bool enough = AddMissing(job, "", job.spec.gang.min_member, lack, wish);
  wish.least = lack.tasks;
  return enough;
}

}  // namespace tephra
