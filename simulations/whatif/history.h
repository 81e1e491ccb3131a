// History: what a journal says of a cluster: what stood at a time, and what came after it that does
// not follow from plans: jobs that arrive, nodes, queues and policies that change, pods that fail,
// and how long tasks ran.
//
// Plain values. Times are the engine's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulations/workload/simulation.h"
#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

struct RecordedTask {
  std::string pod;  // its uid; empty: there is none now
  std::string node;
  bool runs = false;    // on its way out too
  TimeMs start = -1;    // of its last attempt
  TimeMs end = -1;      // when it was over and nobody asked for it again
  DurationMs done = 0;  // saved by attempts before
  DurationMs most = 0;  // of its run time, done by any attempt that was not its last
  std::int32_t attempts = 0;
  std::uint64_t turn = 0;  // of all starts
  // --- about the last attempt
  bool evicted = false;                // a plan said so
  TimeMs released = -1;                // since when it is on its way out
  TimeMs left = -1;                    // when it stopped before its work was done
  TimeMs checkpointed = -1;            // when it last saved its work, where that was told
  std::uint64_t stopped = 0;           // in which batch it stopped before its work was done
  std::optional<std::size_t> failure;  // its end, in History::events
};

struct RecordedJob {
  TimeMs came = 0;        // when it was made, or was first heard of where that is not known
  TimeMs heard = 0;       // when it was first heard of
  bool standing = false;  // at the cut
  bool later = false;     // it came after that
  // As it came, or stood at the cut; without its pods: each task may be placed, whatever pods
  // there are.
  JobSpec spec;
  JobSpec told;            // the same as it was told last
  bool with_pods = false;  // the engine places only tasks that have a pod
  TimeMs start = -1;       // when a task of it first ran
  TimeMs gone = -1;        // when it was taken away
  std::map<std::pair<std::string, std::int32_t>, RecordedTask> tasks;  // by role and index
};

struct History {
  std::string file;
  TimeMs begin = 0;  // of the first cycle
  TimeMs end = 0;    // of the last
  TimeMs cut = 0;    // what is recorded up to then has happened
  // So many batches of the journal, and of the next one the events alone.
  std::uint64_t batches = 0;
  bool and_events = false;
  bool due = false;  // of the last of these the cycle is yet to come

  // --- at the cut
  std::vector<std::string> extended_kinds;
  EngineConfig config;
  std::map<std::string, NodeSpec> nodes;
  std::map<std::string, QueueSpec> queues;
  std::map<std::string, DomainSpec> domains;
  std::uint64_t version = 0;               // the highest of any fact
  std::vector<RecordedJob> standing;       // in the order in which they came
  std::vector<std::size_t> standing_jobs;  // which those are in `jobs`

  // --- in all
  std::vector<RecordedJob> jobs;       // as they were when they went, or at the end; as they came
  std::vector<DatedHappening> events;  // after the cut
  // Some job went at the instant at which it came: who does not start is not kept.
  bool drops = false;
  // After how long those went that a plan evicted, sorted.
  std::vector<DurationMs> graces;
};

struct Cut {
  enum class From : std::uint8_t { kStart, kEnd };
  From from = From::kEnd;
  DurationMs distance = 0;   // after the first cycle, or before the last
  bool whole_cycle = false;  // kStart and 0: after that cycle, else before it
};

// `checkpoints` as of Restarts. Errors as of JournalBatches; INVALID_ARGUMENT where there is no
// cycle in the journal, or none at the cut.
absl::StatusOr<History> ReadHistory(const std::string& path, const Cut& cut,
                                    std::optional<DurationMs> checkpoints);

}  // namespace tephra
