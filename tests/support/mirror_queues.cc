// What the mirror knows of queues: which jobs may start, which job waits behind which, and limits.
#include <algorithm>
#include <tuple>

#include "tests/support/mirror.h"

namespace tephra {

bool Mirror::Open(const std::string& queue) const {
  const auto known = queues_.find(queue);
  return known != queues_.end() && known->second.state == QueueState::kOpen && !HasHeirs(queue);
}

bool Mirror::HasHeirs(const std::string& queue) const {
  return std::any_of(queues_.begin(), queues_.end(),
                     [&](const auto& one) { return one.second.parent == queue; });
}

bool Mirror::BehindAnother(const NamedDecision& decision, const MirrorJob& job) const {
  const auto queue = queues_.find(job.spec.queue);
  if (queue == queues_.end() || queue->second.dequeue != Dequeue::kFifo) return false;
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    const JobSpec& other = entry.second.spec;
    return other.name == decision.reason->ahead && other.queue == job.spec.queue &&
           !Satisfied(entry.second) &&
           std::make_tuple(-other.priority, other.created, other.uid) <
               std::make_tuple(-job.spec.priority, job.spec.created, job.spec.uid);
  });
}

// What the queue and those under it hold, or are guaranteed where that is more; level by level.
Resources Mirror::Claim(const std::string& queue) const {
  Resources claim;
  for (const auto& [uid, job] : jobs_) {
    if (job.spec.queue == queue) claim.Add(Holds(job));
  }
  for (const auto& [name, spec] : queues_) {
    if (spec.parent == queue) claim.Add(Claim(name));
  }
  return Resources::Max(claim, queues_.at(queue).guarantee);
}

Resources Mirror::Holds(const MirrorJob& job) const {
  Resources held;
  for (const auto& [name, role] : job.roles) {
    for (const MirrorTask& task : role.tasks) {
      if (Counts(task) && nodes_.contains(task.node)) held.Add(Amounts(task));
      if (nodes_.contains(task.reserved_node)) held.Add(Amounts(ReservationOf(role, task)));
    }
  }
  return held;
}

// The decision took nothing that is guaranteed to another queue. Judged only if it took the queue
// above its own guarantee at each level, because what is within is guaranteed to this queue.
std::string Mirror::CheckKept(const std::string& job, const Resources& taken) const {
  std::vector<Kind> kinds = {kCpu, kPods, kGpu};
  for (const auto& [model, kind] : models_) kinds.push_back(kind);
  for (Kind k : kinds) {
    if (taken[k] == 0) continue;
    bool beyond = true;
    std::string queue = jobs_.at(job).spec.queue;
    for (int depth = 0; queues_.contains(queue) && depth < 100; ++depth) {
      const QueueSpec& spec = queues_.at(queue);
      const std::int64_t claim = Claim(queue)[k];
      beyond = beyond && claim > spec.guarantee[k];
      if (!beyond) break;
      if ((spec.limited_kinds >> k & 1u) != 0 && claim > spec.limit[k]) {
        return "takes what queue " + queue + " keeps of kind " + std::to_string(k) +
               ": claims of " + std::to_string(claim) + " where " + std::to_string(spec.limit[k]) +
               " may be held";
      }
      queue = spec.parent;
    }
    if (!beyond) continue;
    std::int64_t kept = 0;
    for (const auto& [name, spec] : queues_) {
      if (queues_.contains(spec.parent)) continue;
      kept += Claim(name)[k];
    }
    for (const auto& [uid, other] : jobs_) {
      if (queues_.contains(other.spec.queue)) kept -= Holds(other)[k];
    }
    const std::int64_t free = Now().Free(k);
    if (kept > std::max<std::int64_t>(free, 0)) {
      return "takes what is kept of kind " + std::to_string(k) + ": " + std::to_string(kept) +
             " kept, " + std::to_string(free) + " free";
    }
  }
  return "";
}

// A job that is not preemptible takes no reclaimable queue over what it deserves.
std::string Mirror::CheckDeserved(const std::string& job, const Resources& taken,
                                  const Resources& more) const {
  if (jobs_.at(job).spec.preemptible) return "";
  const auto above = [&](const std::string& queue) {
    const std::string& parent = queues_.at(queue).parent;
    return queues_.contains(parent) ? parent : std::string();
  };
  std::string queue = jobs_.at(job).spec.queue;
  for (int depth = 0; queues_.contains(queue) && depth < 100; ++depth) {
    const QueueSpec& spec = queues_.at(queue);
    if (!spec.reclaimable) return "";
    Resources held = more;
    for (const auto& [uid, other] : jobs_) {
      std::string at = other.spec.queue;
      for (int up = 0; at != queue && queues_.contains(at) && up < 100; ++up) at = above(at);
      if (at == queue && !other.spec.preemptible) held.Add(Holds(other));
    }
    for (Kind k = 0; k < kMaxKinds; ++k) {
      const bool counts = std::any_of(queues_.begin(), queues_.end(), [&](const auto& one) {
        return above(one.first) == above(queue) && one.second.deserved[k] > 0;
      });
      const std::int64_t quota = std::max(spec.deserved[k], spec.guarantee[k]);
      if (counts && taken[k] + more[k] > 0 && held[k] > quota) {
        return "takes more than queue " + queue + " deserves of kind " + std::to_string(k) + ": " +
               std::to_string(held[k]) + " of " + std::to_string(quota);
      }
    }
    queue = above(queue);
  }
  return "";
}

// No queue above the job holds more than its limit.
std::string Mirror::CheckQueues(const std::string& job, const Resources& taken) const {
  std::string queue = jobs_.at(job).spec.queue;
  for (int depth = 0; !queue.empty() && depth < 100; ++depth) {
    const auto known = queues_.find(queue);
    if (known == queues_.end()) return "";
    std::set<std::string> under = {queue};
    for (bool grown = true; grown;) {
      grown = false;
      for (const auto& [name, spec] : queues_) {
        if (under.contains(spec.parent) && under.insert(name).second) grown = true;
      }
    }
    Resources held;
    for (const auto& [uid, other] : jobs_) {
      if (!under.contains(other.spec.queue)) continue;
      for (const auto& [name, role] : other.roles) {
        for (const MirrorTask& task : role.tasks) {
          if (nodes_.contains(task.reserved_node)) held.Add(Amounts(ReservationOf(role, task)));
          if (!Counts(task) || !nodes_.contains(task.node)) continue;
          held.Add(Amounts(task));
        }
      }
    }
    std::vector<Kind> kinds = {kCpu, kMemory, kPods, kGpu, kGpuMemory};
    for (const auto& [model, kind] : models_) kinds.push_back(kind);
    for (Kind k : kinds) {
      const bool limited = (known->second.limited_kinds >> k & 1u) != 0;
      if (limited && held[k] > known->second.limit[k] && taken[k] > 0) {
        return "takes queue " + queue + " over its limit of kind " + std::to_string(k) + ": " +
               std::to_string(held[k]) + " of " + std::to_string(known->second.limit[k]);
      }
    }
    queue = known->second.parent;
  }
  return "";
}

}  // namespace tephra
