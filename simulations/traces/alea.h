// The form of Alea's synthetic workloads (aleasimulator/SWF_Workload_Generator, LGPL): SWF with
// three more fields, and tables beside it of who may have how much.
//
// As SWF (swf.h), but: sizes are nodes; memory is that of each node; the 19th field is the GPUs of
// all nodes together, the 20th a soft limit that is not read, the 21st the property of the clusters
// that it may run on, "all" for any.
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

// By the number that jobs give; empty where the file is not there.
struct AleaTables {
  std::map<std::int64_t, AleaQuota> queues, groups, users;
  TraceMachine machine;  // a cluster each
};

// From the files beside the trace of its name and these ends. INVALID_ARGUMENT with file, line and
// field.
absl::StatusOr<AleaTables> ReadAleaTables(const std::string& trace);

// A queue that is not in the table is the fault of the job; a user or group keeps its number.
std::unique_ptr<TraceParser> MakeAleaParser(const AleaTables& tables);

}  // namespace tephra
