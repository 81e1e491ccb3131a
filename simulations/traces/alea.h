// The format of Alea's synthetic workloads (aleasimulator/SWF_Workload_Generator, LGPL): SWF with
// three more fields, and tables with the quotas of users, groups and queues in files next to it.
//
// As SWF (swf.h), but: sizes are nodes; memory is that of each node; the 19th field is the GPUs of
// all nodes together, the 20th a soft limit that is not read, the 21st the property of the clusters
// on which the job may run, "all" for any cluster.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "simulations/traces/trace_machine.h"
#include "simulations/traces/trace_parser.h"
#include "topology/base/status.h"

namespace tephra {

inline constexpr const char* kAleaTables[] = {".queues", ".groups", ".users", ".machines"};

// A user, a group or a queue.
struct AleaQuota {
  std::string name;
  std::int64_t cpu_quota = 0;         // as in the file
  std::int64_t shares = kNotKnown;    // of users and groups
  std::int64_t priority = kNotKnown;  // of queues
};

// By the number used in jobs; empty if the file does not exist.
struct AleaTables {
  std::map<std::int64_t, AleaQuota> queues, groups, users;
  TraceMachine machine;  // one part for each cluster
};

// Reads the files with the name of the trace and these suffixes. INVALID_ARGUMENT with file, line
// and field.
absl::StatusOr<AleaTables> ReadAleaTables(const std::string& trace);

// A queue that is missing in the table is a fault of the job. A missing user or group keeps its
// number.
std::unique_ptr<TraceParser> MakeAleaParser(const AleaTables& tables);

}  // namespace tephra
