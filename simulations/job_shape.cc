#include "simulations/job_shape.h"

#include <utility>

#include "simulations/traces/pod_shapes.h"
#include "topology/base/hash.h"

namespace tephra {
namespace {

// Exchanges what each job has of its own.
void SwapOwn(JobSpec& a, JobSpec& b) {
  std::swap(a.uid, b.uid);
  std::swap(a.name, b.name);
  std::swap(a.queue, b.queue);
  std::swap(a.user, b.user);
  std::swap(a.created, b.created);
  std::swap(a.estimated_runtime_ms, b.estimated_runtime_ms);
}

JobShape Made(const JobSpec& spec) {
  JobShape shape;
  shape.spec = spec;
  std::size_t tasks = 0;
  for (const RoleSpec& role : spec.gang.roles) {
    shape.roles.push_back(
        {role.name, GpuDemand(role.pod), GpuMemoryDemand(role.pod), tasks, role.replicas});
    tasks += static_cast<std::size_t>(role.replicas);
    shape.gpu_demand += shape.roles.back().gpu_each * role.replicas;
  }
  return shape;
}

}  // namespace

Boxed<JobShape> JobShapes::Of(JobSpec& job) {
  JobSpec own;
  SwapOwn(job, own);
  Boxed<JobShape> shape = pool_.Of(job, [&] { return Made(job); });
  SwapOwn(job, own);
  return shape;
}

// Of what most often differs between shapes.
std::size_t JobShapes::Hash::operator()(const JobSpec& spec) const {
  std::uint64_t hash = spec.gang.roles.size();
  const auto add = [&](auto number) { hash = Mix(hash, static_cast<std::uint64_t>(number)); };
  add(spec.priority);
  for (const RoleSpec& role : spec.gang.roles) {
    add(role.replicas);
    for (const ContainerSpec& container : role.pod.containers) {
      add(container.requests[kCpu]);
      add(container.requests[kMemory]);
      add(container.devices.count);
      add(container.devices.compute);
    }
    for (const auto& [key, value] : role.pod.constraints.selector) hash = Mix(hash, HashOf(value));
  }
  return hash;
}

}  // namespace tephra
