// LeastLosses: a lower bound on the work that is lost if victims release so many GPUs.
//
// Immutable; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace tephra {

class LeastLosses {
 public:
  // What is evicted as a whole.
  struct Part {
    std::int64_t loss = 0;  // in GPU-milliseconds
    std::int64_t gpus = 0;  // in thousandths

    std::int64_t LossOfAGpu() const { return gpus == 0 ? loss : loss / gpus; }
  };

  LeastLosses() = default;
  explicit LeastLosses(std::vector<Part> parts) : sums_(std::move(parts)) {
    std::erase_if(sums_, [](const Part& part) { return part.gpus == 0; });
    std::sort(sums_.begin(), sums_.end(),
              [](const Part& a, const Part& b) { return a.LossOfAGpu() < b.LossOfAGpu(); });
    for (std::size_t i = 1; i < sums_.size(); ++i) {
      sums_[i].loss += sums_[i - 1].loss;
      sums_[i].gpus += sums_[i - 1].gpus;
    }
  }

  // The cheapest parts that release so much, the last one in part. Evictions since it was made only
  // raise what the rest would lose.
  std::int64_t Of(std::int64_t gpus) const {
    if (gpus <= 0 || sums_.empty()) return 0;
    const auto last = std::partition_point(
        sums_.begin(), sums_.end(), [&](const Part& sum) { return sum.gpus < gpus; });
    if (last == sums_.end()) return sums_.back().loss;
    const Part before = last == sums_.begin() ? Part{} : *std::prev(last);
    const Part part{last->loss - before.loss, last->gpus - before.gpus};
    return before.loss + (last->gpus == gpus ? part.loss : part.LossOfAGpu() * (gpus - before.gpus));
  }

 private:
  std::vector<Part> sums_;  // by rising loss of a GPU, each with those before it
};

}  // namespace tephra
