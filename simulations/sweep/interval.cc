#include "simulations/sweep/interval.h"

#include <cmath>

#include <boost/math/distributions/students_t.hpp>

namespace tephra {

std::optional<Interval> IntervalOf(const std::vector<double>& samples) {
  if (samples.empty()) return std::nullopt;
  Interval interval;
  interval.samples = samples.size();
  const auto count = static_cast<double>(samples.size());
  for (const double sample : samples) interval.mean += sample / count;
  if (samples.size() == 1) return interval;
  double squares = 0;
  for (const double sample : samples) squares += std::pow(sample - interval.mean, 2);
  // 95 % lie between the quantiles 0.025 and 0.975; s / sqrt(n) is the error of the mean.
  const boost::math::students_t t(count - 1);
  interval.half_width =
      boost::math::quantile(t, 0.975) * std::sqrt(squares / (count - 1)) / std::sqrt(count);
  return interval;
}

}  // namespace tephra
