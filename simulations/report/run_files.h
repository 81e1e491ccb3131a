// RunFiles: the output files of `tephra simulate --out DIR`, read for a report.
//
// Times are seconds since the simulation's 0, amounts GPUs. A contradiction in a file is an
// error that names file, line, column, value and what was expected. Plain data; any thread.
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

// Frequent words, each stored once.
class WordList {
 public:
  std::uint32_t Add(const std::string& word);
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::uint32_t> places_;
};

struct RunFiles {
  // A row of jobs.csv. An empty optional is an empty field.
  struct Job {
    std::string name, reason;
    std::uint32_t user = 0, queue = 0, state = 0;  // indexes in `words`
    double gpus = 0, submit_s = 0;
    std::optional<double> start_s, end_s, bounded_slowdown;
    std::int64_t evictions = 0, failures = 0;
    // The wait until the first start of the gang, or until `end_s` of the run.
    double WaitedS(double run_end_s) const {
      return start_s.value_or(end_s.value_or(run_end_s)) - submit_s;
    }
  };
  // timeline.csv, one vector for each column: means over steps of time.
  struct Steps {
    std::vector<double> time_s, span_s, gpus, used, fragmented, running, waiting;
  };
  // queues.csv, of one queue with its child queues. One value for each step, 0 if there is no row.
  struct Queue {
    std::string name;
    std::vector<double> used, asked, share, deserved;
  };
  // Consecutive GPUs of one node that one task used in its last attempt.
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
  std::vector<Job> jobs;  // with unique names
  Steps steps;
  std::vector<Queue> queues;
  // tasks.csv; empty if the run did not write it.
  bool has_tasks = false;
  std::vector<Node> nodes;  // nodes with GPUs
  std::vector<Bar> bars;
};

absl::StatusOr<RunFiles> ReadRunFiles(const std::string& folder);

}  // namespace tephra
