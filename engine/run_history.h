// RunHistory: how long jobs ran, from which the run time of the next one is predicted. Kept by State
// from the ends of tasks.
//
// A job belongs to several groups, from all jobs of the cluster down to jobs of the same program,
// user, size and estimate. Each group knows the mean and the spread of the logarithm of its run
// times, and recent jobs count more. A prediction goes from the largest group to the smallest: what
// a group says counts by its number of jobs, against what the larger groups said. This is Bayesian
// shrinkage (Efron and Morris, JASA 1973), with the features of Gaussier et al., "Improving
// backfilling by using machine learning to predict running times", SC'15.
//
// If the owner of a job gave an estimate, groups know the part of the estimate that jobs used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "topology/base/ids.h"
#include "topology/base/time.h"

namespace tephra {

// What is known of a job before it runs.
struct RunSubject {
  QueueId queue;
  std::string user, program;  // empty: not known
  std::int64_t size = 0;      // milli-GPUs or milli-cores of all its tasks
  DurationMs stated = 0;      // by its owner; 0: not stated

  bool operator==(const RunSubject&) const = default;
};

// What jobs of the same program have in common: the name without numbers and suffixes with a digit
// at its end, and the image. Empty: neither says anything.
std::string ProgramOf(std::string_view job_name, std::string_view image);

class RunHistory {
 public:
  // The most groups that are kept. If there are more, groups that gained no job lately go.
  static constexpr std::size_t kMostGroups = std::size_t{1} << 17;

  void Ended(const RunSubject& job, DurationMs run);
  // The run time that about five of six such jobs do not exceed, at most `stated`. 0: nothing is
  // known.
  DurationMs Predict(const RunSubject& job) const;

 private:
  struct Group {
    double jobs = 0;                // the last one counts 1, each earlier one kKept of the next one
    double sum = 0, squares = 0;    // of octaves: the base-2 logarithms
  };
  using Groups = absl::flat_hash_map<std::uint64_t, Group>;

  const Group* Find(std::uint64_t key) const;

  Groups recent_, older_;
};

}  // namespace tephra
