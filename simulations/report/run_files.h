// RunFiles: what `tephra simulate --out DIR` left in a folder, read back for a report.
//
// Times are seconds since the simulation's 0, amounts GPUs. What a file contradicts itself in is
// an error that names file, line, column, value and what was expected. Plain data; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "topology/base/status.h"

namespace tephra {

// Words that come often, each once.
class WordList {
 public:
  std::uint32_t Add(const std::string& word);
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::uint32_t> places_;
};

struct RunFiles {
  // A row of jobs.csv; what is not there yet, or never, is empty.
  struct Job {
    std::string name, reason;
    std::uint32_t user = 0, queue = 0, state = 0;  // places in `words`
    double gpus = 0, submit_s = 0;
    std::optional<double> start_s, end_s, bounded_slowdown;
    std::int64_t evictions = 0, failures = 0;
    // So long it waited before its gang first started, or has waited by `end_s` of the run.
    double WaitedS(double run_end_s) const {
      return start_s.value_or(end_s.value_or(run_end_s)) - submit_s;
    }
  };
  // timeline.csv, a vector a column: means over steps of time.
  struct Steps {
    std::vector<double> time_s, span_s, gpus, used, fragmented, running, waiting;
  };
  // queues.csv, of one queue and those under it; as long as the steps, 0 where it has no row.
  struct Queue {
    std::string name;
    std::vector<double> used, asked, share, deserved;
  };
  // A stretch of GPUs of one node that one task held, in its last attempt.
  struct Bar {
    std::uint32_t job = 0, node = 0;
    std::int32_t first = 0, count = 0;
    std::int32_t share = 0;  // of each device, in thousandths; 0: of its memory only
    double start_s = 0, length_s = 0;
    double GpuSeconds() const { return length_s * count * std::max(share, 1) / 1000; }
  };
  struct Node {
    std::string name;
    std::int32_t gpus = 0;
  };

  std::string folder;
  nlohmann::ordered_json summary;  // summary.json, an object
  double end_s = 0;
  WordList words;
  std::vector<Job> jobs;  // by name no two
  Steps steps;
  std::vector<Queue> queues;
  // Of tasks.csv; nothing where the run was told not to write it.
  bool has_tasks = false;
  std::vector<Node> nodes;  // those with GPUs
  std::vector<Bar> bars;
};

absl::StatusOr<RunFiles> ReadRunFiles(const std::string& folder);

}  // namespace tephra
