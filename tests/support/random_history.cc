#include "tests/support/random_history.h"

#include <algorithm>

namespace tephra {

std::vector<Event> RandomHistory::Opening() {
  std::vector<Event> events = RandomCase(dice_, size_);
  for (const Event& event : events) {
    if (const auto* e = std::get_if<TaskUpserted>(&event)) foreign_.push_back(e->task.uid);
  }
  return events;
}

std::vector<RandomHistory::Seat> RandomHistory::Seats(const Mirror& mirror,
                                                      bool (*wanted)(const MirrorTask&)) const {
  std::vector<Seat> seats;
  for (const auto& [uid, job] : mirror.jobs()) {
    for (const auto& [name, role] : job.roles) {
      for (std::size_t i = 0; i < role.tasks.size(); ++i) {
        if (wanted(role.tasks[i])) {
          seats.push_back({uid, name, static_cast<int>(i), &role.tasks[i]});
        }
      }
    }
  }
  return seats;
}

Event RandomHistory::Bound(const Seat& seat, TaskPhase phase) {
  TaskFact fact;
  fact.uid = seat.task->uid;
  if (fact.uid.empty()) fact.uid = "pod" + std::to_string(++names_);
  fact.job = seat.job;
  fact.role = seat.role;
  fact.index = seat.index;
  fact.phase = phase;
  if (HoldsRoom(phase)) {
    fact.node = seat.task->node;
    fact.slices = seat.task->slices;
  }
  // Some pods are stuck from the next cycle on, or later. No die, so that seeds tell the same histories as ever.
  if (phase == TaskPhase::kReleasing && version_ % 3 == 0) fact.terminates_by = 1;
  return TaskUpserted{fact, ++version_};
}

Event RandomHistory::NodeEvent(const Mirror& mirror) {
  std::vector<std::string> names;
  for (const auto& [name, spec] : mirror.nodes()) names.push_back(name);
  if (names.empty() || dice_.Percent(20)) {
    if (!lost_nodes_.empty() && dice_.Percent(70)) {
      const auto back = lost_nodes_.begin();
      const NodeSpec spec = back->second;
      lost_nodes_.erase(back);
      return NodeUpserted{spec, ++version_};
    }
    return NodeUpserted{RandomNode(dice_, "m" + std::to_string(++names_), size_), ++version_};
  }
  NodeSpec spec = mirror.nodes().at(dice_.Pick(names));
  switch (dice_.Below(8)) {
    case 0:
      lost_nodes_[spec.name] = spec;
      return NodeRemoved{spec.name};
    case 1:
      spec.unschedulable = !spec.unschedulable;
      break;
    case 2:
      if (spec.taints.empty()) {
        spec.taints.push_back({"team", "x", TaintEffect::kNoSchedule});
      } else {
        spec.taints.clear();
      }
      break;
    case 3:
      spec.labels["zone"] = spec.labels["zone"] == "a" ? "b" : "a";
      break;
    case 4:
      spec.labels["rack"] = "r" + std::to_string(dice_.Below(3));
      break;
    case 5:
      if (!spec.devices.empty()) {
        DeviceHardware& device = dice_.Percent(50) ? spec.devices.front() : spec.devices.back();
        device.healthy = !device.healthy;
        Dice aside = Aside(dice_);
        // Modes may shrink and come back under tasks that run.
        if (aside.Percent(40)) device.modes = aside.Percent(50) ? kUsualModes : 0b00101;
      }
      break;
    case 6:
      if (dice_.Percent(50) && !spec.devices.empty()) {
        spec.devices.pop_back();
      } else if (static_cast<int>(spec.devices.size()) < size_.devices) {
        spec.devices.push_back({"", "B", 40000, true});
      }
      break;
    default:
      spec.allocatable[kCpu] = dice_.Pick<int>({2000, 4000, 16000, 64000});
  }
  return NodeUpserted{spec, ++version_};
}

Event RandomHistory::JobEvent(const Mirror& mirror) {
  std::vector<std::string> names;
  for (const auto& [uid, job] : mirror.jobs()) names.push_back(uid);
  if (names.empty() || (dice_.Percent(60) && static_cast<int>(names.size()) < size_.jobs)) {
    JobSpec job = RandomJob(dice_, "j" + std::to_string(++names_), size_);
    if (size_.groups && dice_.Percent(60)) AddGroups(job);
    return JobUpserted{std::move(job), ++version_};
  }
  const std::string uid = dice_.Pick(names);
  if (dice_.Percent(40)) return JobRemoved{uid};
  JobSpec spec = mirror.jobs().at(uid).spec;
  RoleSpec& role =
      spec.gang
          .roles[static_cast<std::size_t>(dice_.Below(static_cast<int>(spec.gang.roles.size())))];
  switch (dice_.Below(7)) {
    case 0:
      role.replicas = dice_.From(1, 4);
      role.min = std::min(role.min, role.replicas);
      break;
    case 1:
      role.pod = RandomPod(dice_, size_);
      break;
    case 2:
      spec.queue = spec.queue == "q0" ? "q1" : "q0";
      break;
    case 3:
      spec.priority = dice_.Below(4);
      break;
    case 4:
    case 5:
      spec.pods_exist = !spec.pods_exist;
      break;
    default:
      spec.gang.roles.push_back({"x" + std::to_string(++names_), 1, 0, RandomPod(dice_, size_)});
      if (spec.gang.roles.size() > 3) spec.gang.roles.erase(spec.gang.roles.begin());
  }
  int replicas = 0;
  for (const RoleSpec& each : spec.gang.roles) replicas += each.replicas;
  spec.gang.min_member = std::min(spec.gang.min_member, replicas);
  FitGroups(spec);
  return JobUpserted{spec, ++version_};
}

void RandomHistory::AddGroups(JobSpec& job) {
  for (const char* name : {"a", "b", "c"}) {
    job.gang.groups.push_back({name, dice_.From(1, 4), dice_.Percent(40), {}});
  }
  if (dice_.Percent(60)) job.gang.groups[1].parent = "a";
  if (dice_.Percent(60)) job.gang.groups[2].parent = "b";
  for (RoleSpec& role : job.gang.roles) role.group = dice_.Pick<std::string>({"a", "b", "c", ""});
  FitGroups(job);
}

// Removes groups without tasks of their own or of needed groups inside them, and limits minimums to the
// number of these tasks.
void RandomHistory::FitGroups(JobSpec& job) const {
  // Of the group, or the gang, and of the groups inside it that are not elastic.
  const auto tasks_in = [&](const auto& again, const std::string& of) -> int {
    int tasks = 0;
    for (const RoleSpec& role : job.gang.roles) tasks += role.group == of ? role.replicas : 0;
    for (const GroupSpec& inner : job.gang.groups) {
      if (inner.parent == of && !inner.elastic) tasks += again(again, inner.name);
    }
    return tasks;
  };
  std::vector<GroupSpec>& groups = job.gang.groups;
  for (bool found = true; found;) {
    const auto empty = std::find_if(groups.begin(), groups.end(), [&](const GroupSpec& group) {
      return tasks_in(tasks_in, group.name) == 0;
    });
    found = empty != groups.end();
    if (!found) break;
    const GroupSpec gone = *empty;
    groups.erase(empty);
    for (GroupSpec& group : groups) {
      if (group.parent == gone.name) group.parent = gone.parent;
    }
    for (RoleSpec& role : job.gang.roles) {
      if (role.group == gone.name) role.group = gone.parent;
    }
  }
  for (GroupSpec& group : groups) {
    group.min_member = std::min(group.min_member, tasks_in(tasks_in, group.name));
  }
  job.gang.min_member = std::min(job.gang.min_member, tasks_in(tasks_in, ""));
}

Event RandomHistory::TaskEvent(const Mirror& mirror) {
  const auto assumed =
      Seats(mirror, [](const MirrorTask& t) { return t.phase == TaskPhase::kAssumed; });
  const auto known = Seats(mirror, [](const MirrorTask& t) { return !t.uid.empty(); });
  const auto pending =
      Seats(mirror, [](const MirrorTask& t) { return t.phase == TaskPhase::kPending; });
  const auto absent =
      Seats(mirror, [](const MirrorTask& t) { return t.phase == TaskPhase::kAbsent; });
  if (!absent.empty() && dice_.Percent(40)) return Bound(dice_.Pick(absent), TaskPhase::kPending);
  if (!pending.empty() && dice_.Percent(15)) return Bound(dice_.Pick(pending), TaskPhase::kPending);
  if (!assumed.empty() && dice_.Percent(16)) return OutcomeEvent(dice_.Pick(assumed));
  if (!assumed.empty() && dice_.Percent(65)) return Bound(dice_.Pick(assumed), TaskPhase::kRunning);
  if (known.empty()) return JobEvent(mirror);
  const Seat& seat = dice_.Pick(known);
  if (dice_.Percent(30)) return TaskRemoved{seat.task->uid};
  switch (seat.task->phase) {
    case TaskPhase::kRunning:
      return Bound(seat, dice_.Pick<TaskPhase>({TaskPhase::kReleasing, TaskPhase::kSucceeded,
                                                TaskPhase::kFailed, TaskPhase::kPending}));
    case TaskPhase::kReleasing:
      return Bound(seat, dice_.Percent(50) ? TaskPhase::kFailed : TaskPhase::kSucceeded);
    default:
      return Bound(seat, TaskPhase::kPending);
  }
}

// Of a decision that was not carried out, or a placement that was and failed. Where a refusal would
// keep the oracle from judging, the failure says nothing about the node.
Event RandomHistory::OutcomeEvent(const Seat& seat) {
  const std::string node = kinds_.refusals ? seat.task->node : "";
  switch (dice_.Below(kinds_.refusals ? 4 : 3)) {
    case 0:
      return PlanStale{seat.job, "by the dice", dice_.Percent(30)};
    case 1:
    case 2:
      return BindFailed{seat.job, seat.role, seat.index, node, "by the dice"};
    default:
      return PlacementRefused{seat.job, seat.role, node, "by the dice", dice_.Percent(30)};
  }
}

// One node more or less, mostly; the mask may come or go as a whole.
Event RandomHistory::MaskEvent(const Mirror& mirror) {
  const std::string name = "m" + std::to_string(dice_.Below(3));
  const auto known = mirror.masks().find(name);
  if (known != mirror.masks().end() && dice_.Percent(10)) return MaskRemoved{name};
  if (known == mirror.masks().end() || mirror.nodes().empty() || dice_.Percent(20)) {
    MaskUpserted mask = RandomMask(dice_, name, size_);
    mask.version = ++version_;
    return mask;
  }
  std::set<std::string> excluded = known->second;
  std::vector<std::string> names;
  for (const auto& [node, spec] : mirror.nodes()) names.push_back(node);
  const std::string node = dice_.Pick(names);
  if (excluded.erase(node) == 0) excluded.insert(node);
  return MaskUpserted{name, {excluded.begin(), excluded.end()}, ++version_};
}

Event RandomHistory::ForeignEvent(const Mirror& mirror) {
  std::vector<std::string> names;
  for (const auto& [name, spec] : mirror.nodes()) names.push_back(name);
  if (!foreign_.empty() && (names.empty() || dice_.Percent(45))) {
    const std::size_t i = static_cast<std::size_t>(dice_.Below(static_cast<int>(foreign_.size())));
    const std::string uid = foreign_[i];
    foreign_.erase(foreign_.begin() + static_cast<std::ptrdiff_t>(i));
    return TaskRemoved{uid};
  }
  if (names.empty()) return NodeEvent(mirror);
  foreign_.push_back("foreign" + std::to_string(++names_));
  return TaskUpserted{
      RandomForeign(dice_, foreign_.back(), mirror.nodes().at(dice_.Pick(names)), size_),
      ++version_};
}

Event RandomHistory::Next(const Mirror& mirror) {
  const int what = dice_.Below(100);
  if (what < 20) return NodeEvent(mirror);
  if (what < 45) return JobEvent(mirror);
  if (what < 50) {
    const bool first = dice_.Percent(50);
    if (dice_.Percent(15)) return QueueRemoved{first ? "q0" : "q1"};
    Dice aside = Aside(dice_);
    // Models may be declared long after nodes and tasks came.
    if (size_.queue_limits && mirror.models().empty() && aside.Percent(20)) return kModelKinds;
    QueueSpec queue =
        RandomQueue(dice_, first ? "q0" : "q1", first || dice_.Percent(50) ? "" : "q0", size_);
    if (size_.queue_limits && !mirror.models().empty()) AddModelQuotas(aside, queue);
    return QueueUpserted{queue, ++version_};
  }
  if (what < 60) return ForeignEvent(mirror);
  if (what < 65) return MaskEvent(mirror);
  return TaskEvent(mirror);
}

}  // namespace tephra
