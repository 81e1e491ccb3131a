// SmallCluster: the engine of this build on a cluster built from short lines. It has an open queue
// "default", and gives each fact the next version.
//
// A refused fact stops the test with the engine's message.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "plugins/registry.h"
#include "tests/support/build.h"
#include "tests/support/named_plan.h"

namespace tephra {

class SmallCluster {
 public:
  explicit SmallCluster(const EngineConfig& config = {}, Assembly assembly = DefaultAssembly());

  SmallCluster& Add(const NodeSpec& node);
  SmallCluster& Add(const JobSpec& job);
  SmallCluster& Add(const QueueSpec& queue);
  SmallCluster& Tell(const Event& event);

  // A pod of no job, bound to the node.
  SmallCluster& Foreign(const std::string& uid, const std::string& node, const PodTemplate& pod,
                        Slices slices = {});
  // What the cluster says of a job's task; its pod is named job/role/index.
  SmallCluster& Task(const std::string& job, const std::string& role, int index, TaskPhase phase,
                     const std::string& node = "", Slices slices = {});
  // Every placement of the last plan is bound and runs.
  SmallCluster& Confirm();
  SmallCluster& Gone(const std::string& pod) { return Tell(TaskRemoved{pod}); }

  const NamedPlan& Tick(TimeMs now = 0);
  const NamedPlan& plan() const { return plan_; }

  // What the last plan says of the job's minimum; stops the test where it says nothing.
  const NamedDecision& Of(const std::string& job) const;
  bool Started(const std::string& job) const;
  std::string Why(const std::string& job) const;  // the reason in words

  Engine& engine() { return engine_; }
  const Books& books() const { return engine_.state().books(); }
  const JobRow& job(const std::string& uid) const;

 private:
  Engine engine_;
  NamedPlan plan_;
  std::uint64_t version_ = 0;
};

}  // namespace tephra
