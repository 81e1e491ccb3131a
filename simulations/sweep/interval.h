// Interval: a mean with its confidence interval, from a few independent samples.
#pragma once

#include <optional>
#include <vector>

namespace tephra {

struct Interval {
  std::size_t samples = 0;  // at least 1
  double mean = 0;
  // Half the width of the 95 % confidence interval, for normally distributed samples (Student's t).
  // None for one sample.
  std::optional<double> half_width;

  bool Excludes(double value) const {
    return half_width && (value < mean - *half_width || value > mean + *half_width);
  }
};

// None without samples.
std::optional<Interval> IntervalOf(const std::vector<double>& samples);

}  // namespace tephra
