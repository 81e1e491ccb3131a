// Interval: a mean and how far off it may be, told from a few independent samples.
#pragma once

#include <optional>
#include <vector>

namespace tephra {

struct Interval {
  std::size_t samples = 0;  // at least 1
  double mean = 0;
  // The true mean is within this of `mean` with 95 % confidence, as far as samples are normal
  // (Student's t). One sample tells nothing of it.
  std::optional<double> half_width;

  bool Excludes(double value) const {
    return half_width && (value < mean - *half_width || value > mean + *half_width);
  }
};

// None without samples.
std::optional<Interval> IntervalOf(const std::vector<double>& samples);

}  // namespace tephra
