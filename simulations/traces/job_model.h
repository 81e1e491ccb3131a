// JobModel: jobs by chance, from one seed: when they come, how large they are, how long they run.
//
// Submissions are a Poisson process; each brings a burst of jobs, a geometric number of them. Sizes
// and run times are drawn
//   - from a list of sizes with their shares, run times exponential with a mean; or
//   - as Lublin and Feitelson found them in logs of parallel machines ("The workload on parallel
//     supercomputers: modeling the characteristics of rigid jobs", JPDC 63(11), 2003): of a size
//     that is a power of two more often than not, log2 of it two-stage uniform, and a run time
//     whose logarithm is hyper-gamma, of which more are long for large jobs. Their daily cycle is
//     not in here.
// Equal settings give equal jobs. One owner thread.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "simulations/traces/trace_job.h"

namespace tephra {

struct JobModel {
  struct Size {
    std::int64_t gpus = 1;
    double share = 1;  // against those of the others
  };
  std::uint64_t seed = 0;
  std::int64_t jobs = 0;
  DurationMs every = 0;                    // mean time between submissions
  double burst = 1;                        // mean jobs of a submission, at least 1
  std::vector<Size> sizes;                 // none: as Lublin and Feitelson
  DurationMs mean_run = 0;                 // with sizes
  std::int64_t largest = 0;                // without: GPUs of the machine
  std::vector<std::string> queues, users;  // each as often as the others; none: no name
};

class ModelJobs {
 public:
  explicit ModelJobs(JobModel model);

  // False after the last. A task is a GPU.
  bool Next(TraceJob& job);

 private:
  double Uniform();
  double Exponential(double mean);
  double Normal();
  double Gamma(double shape, double scale);
  std::int64_t SizeOf();
  DurationMs RunOf(std::int64_t size);
  const std::string& OneOf(const std::vector<std::string>& names);

  JobModel model_;
  std::mt19937_64 draws_;
  double shares_ = 0;
  double at_ms_ = 0;
  std::int64_t given_ = 0, in_burst_ = 0;
};

}  // namespace tephra
