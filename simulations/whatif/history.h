// History: the content of a journal: the state of the cluster at the cut, and the later events that
// do not follow from plans: submitted jobs, changes of nodes, queues and policies, pod failures,
// and the run times of tasks.
//
// Plain values. Times are on the clock of the engine.
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
  std::string pod;  // its uid; empty: there is no pod now
  std::string node;
  bool runs = false;    // also while it terminates
  TimeMs start = -1;    // of its last attempt
  TimeMs end = -1;      // when it ended without a restart
  DurationMs done = 0;  // work saved by earlier attempts
  DurationMs most = 0;  // the most work done by an attempt before the last
  std::int32_t attempts = 0;
  std::uint64_t turn = 0;  // order among all starts
  // --- about the last attempt
  bool evicted = false;                // by a plan
  TimeMs released = -1;                // when its termination began
  TimeMs left = -1;                    // when it stopped with unfinished work
  TimeMs checkpointed = -1;            // when it last saved its work, if reported
  std::uint64_t stopped = 0;           // the batch in which it stopped with unfinished work
  std::optional<std::size_t> failure;  // index of its failure in History::events
};

struct RecordedJob {
  TimeMs came = 0;        // creation time, or the first event of it
  TimeMs heard = 0;       // time of its first event
  bool standing = false;  // exists at the cut
  bool later = false;     // submitted after the cut
  // The job as submitted, or as of the cut, without its pods: each task may be placed, whether or
  // not it has a pod.
  JobSpec spec;
  JobSpec latest;          // the same as of its last event
  bool with_pods = false;  // the engine places only tasks with a pod
  TimeMs start = -1;       // when its first task ran
  TimeMs gone = -1;        // when it was removed
  std::map<std::pair<std::string, std::int32_t>, RecordedTask> tasks;  // by role and index
};

struct History {
  std::string file;
  TimeMs begin = 0;  // time of the first cycle
  TimeMs end = 0;    // time of the last cycle
  TimeMs cut = 0;    // the history up to this time has happened
  // The number of whole batches up to the cut. Of the next batch, only the events are before the
  // cut.
  std::uint64_t batches = 0;
  bool and_events = false;
  bool due = false;  // the cycle of the last batch is after the cut

  // --- at the cut
  std::vector<std::string> extended_kinds;
  EngineConfig config;
  std::map<std::string, NodeSpec> nodes;
  std::map<std::string, QueueSpec> queues;
  std::map<std::string, DomainSpec> domains;
  std::uint64_t version = 0;               // the highest version of a fact
  std::vector<RecordedJob> standing;       // in the order of submission
  std::vector<std::size_t> standing_jobs;  // their indexes in `jobs`

  // --- in all
  std::vector<RecordedJob> jobs;       // the last known state, in the order of submission
  std::vector<DatedHappening> events;  // after the cut
  // A job was removed at its submission time: jobs that do not start at once are dropped.
  bool drops = false;
  // The durations from eviction to termination, sorted.
  std::vector<DurationMs> graces;
};

struct Cut {
  enum class From : std::uint8_t { kStart, kEnd };
  From from = From::kEnd;
  DurationMs distance = 0;   // after the first cycle or before the last cycle
  bool whole_cycle = false;  // kStart with distance 0: after that cycle; else before it
};

// `checkpoints`: see Restarts. Errors are those of JournalBatches, and INVALID_ARGUMENT if the
// journal has no cycle, or none at the cut.
absl::StatusOr<History> ReadHistory(const std::string& path, const Cut& cut,
                                    std::optional<DurationMs> checkpoints);

}  // namespace tephra
