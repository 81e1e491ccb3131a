// JobShape: what equal jobs of a workload have in common, kept once for all of them: roles, pods and
// rights. JobShapes keeps the shapes that jobs have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "queue/job.h"
#include "topology/base/boxed.h"
#include "topology/base/value_pool.h"

namespace tephra {

struct JobShape {
  struct Role {
    std::string name;
    std::int64_t gpu_each = 0;             // milli-GPUs of one task
    std::int64_t gpu_memory_mib_each = 0;  // of its fractions
    std::size_t first_task = 0;            // in JobRecord::tasks
    std::int32_t replicas = 0;
  };
  JobSpec spec;                 // without what each job has of its own, see JobShapes::Of
  std::vector<Role> roles;      // by the spec
  std::int64_t gpu_demand = 0;  // milli-GPUs of all its tasks

  bool operator==(const JobShape& other) const { return spec == other.spec; }
  bool operator==(const JobSpec& other) const { return spec == other; }
};

// One owner thread.
class JobShapes {
 public:
  // The shape of the job, without its uid, name, queue, user, creation time and run-time estimate.
  // `job` is the same afterwards.
  Boxed<JobShape> Of(JobSpec& job);

 private:
  struct Hash {
    std::size_t operator()(const JobSpec& spec) const;
    std::size_t operator()(const JobShape& shape) const { return (*this)(shape.spec); }
  };
  ValuePool<JobShape, Hash> pool_;
};

}  // namespace tephra
