#include "tests/support/small_cluster.h"

#include <stdexcept>

namespace tephra {

SmallCluster::SmallCluster(const EngineConfig& config, Assembly assembly)
    : engine_(std::move(assembly)) {
  EngineConfig checked = config;
  checked.full_verify_every = 1;
  Tell(ConfigChanged{checked});
  Add(AQueue("default"));
}

SmallCluster& SmallCluster::Add(const NodeSpec& node) {
  return Tell(NodeUpserted{node, ++version_});
}
SmallCluster& SmallCluster::Add(const JobSpec& job) { return Tell(JobUpserted{job, ++version_}); }
SmallCluster& SmallCluster::Add(const QueueSpec& queue) {
  return Tell(QueueUpserted{queue, ++version_});
}

SmallCluster& SmallCluster::Tell(const Event& event) {
  const absl::Status status = engine_.Apply(event);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  const std::string fault = engine_.state().CheckBooks();
  if (!fault.empty()) throw std::runtime_error("books: " + fault);
  return *this;
}

SmallCluster& SmallCluster::Foreign(const std::string& uid, const std::string& node,
                                    const PodTemplate& pod, Slices slices) {
  TaskFact fact;
  fact.uid = uid;
  fact.phase = TaskPhase::kRunning;
  fact.node = node;
  fact.slices = std::move(slices);
  fact.pod = pod;
  return Tell(TaskUpserted{fact, ++version_});
}

SmallCluster& SmallCluster::Task(const std::string& job, const std::string& role, int index,
                                 TaskPhase phase, const std::string& node, Slices slices) {
  TaskFact fact;
  fact.uid = job + "/" + role + "/" + std::to_string(index);
  fact.job = job;
  fact.role = role;
  fact.index = index;
  fact.phase = phase;
  fact.node = node;
  fact.slices = std::move(slices);
  return Tell(TaskUpserted{fact, ++version_});
}

SmallCluster& SmallCluster::Confirm() {
  for (const NamedDecision& decision : plan_.decisions) {
    for (const NamedPlacement& placed : decision.placements) {
      Task(decision.job, placed.role, placed.index, TaskPhase::kRunning, placed.node,
           placed.slices);
    }
  }
  return *this;
}

const NamedPlan& SmallCluster::Tick(TimeMs now) {
  plan_ = NameOf(engine_.state(), engine_.Tick(now));
  return plan_;
}

const NamedDecision& SmallCluster::Of(const std::string& job) const {
  for (const NamedDecision& decision : plan_.decisions) {
    if (decision.job == job && decision.part == Part::kMinimum) return decision;
  }
  throw std::runtime_error("the plan says nothing of job " + job);
}

bool SmallCluster::Started(const std::string& job) const {
  return Of(job).verdict == Verdict::kStart;
}

std::string SmallCluster::Why(const std::string& job) const {
  return ReasonText(books().kinds, Of(job).reason);
}

const JobRow& SmallCluster::job(const std::string& uid) const {
  const JobId id = engine_.state().FindJob(uid);
  if (!id.valid()) throw std::runtime_error("no job " + uid);
  return books().jobs[id.index()];
}

}  // namespace tephra
