#include "simulations/traces/job_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "topology/base/check.h"

namespace tephra {
namespace {

// The parameters for all jobs, from Table 6 and the program lublin99.c of the authors.
constexpr double kSerial = 0.244, kPowerOfTwo = 0.576;
constexpr double kLow = 0.8, kMedBelowHigh = 2.5, kLowerPart = 0.86;  // of log2 of the size
constexpr double kShape1 = 4.2, kScale1 = 0.94, kShape2 = 312, kScale2 = 0.03;  // of ln of seconds
constexpr double kFirstBySize = -0.0054, kFirst = 0.78;
constexpr double kLongestS = 60.0 * 24 * 3600;

}  // namespace

ModelJobs::ModelJobs(JobModel model) : model_(std::move(model)), draws_(model_.seed) {
  for (const JobModel::Size& size : model_.sizes) shares_ += size.share;
  TEPHRA_CHECK(model_.sizes.empty() ? model_.largest > 0 : shares_ > 0);
}

// The distributions of the standard library differ between libraries.
double ModelJobs::Uniform() { return static_cast<double>(draws_() >> 11) * 0x1.0p-53; }

double ModelJobs::Exponential(double mean) { return -mean * std::log1p(-Uniform()); }

double ModelJobs::Normal() {
  const double radius = std::sqrt(-2 * std::log1p(-Uniform()));
  return radius * std::cos(2 * std::numbers::pi * Uniform());
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", TOMS 26(3), 2000.
// REQUIRES: shape >= 1.
double ModelJobs::Gamma(double shape, double scale) {
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = Normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log1p(-Uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v * scale;
  }
}

std::int64_t ModelJobs::SizeOf() {
  if (!model_.sizes.empty()) {
    double at = Uniform() * shares_;
    for (const JobModel::Size& size : model_.sizes) {
      at -= size.share;
      if (at < 0) return size.gpus;
    }
    return model_.sizes.back().gpus;
  }
  const double kind = Uniform();
  if (kind <= kSerial || model_.largest == 1) return 1;
  const double high = std::log2(static_cast<double>(model_.largest));
  const double low = std::min(kLow, high), med = std::max(low, high - kMedBelowHigh);
  const bool lower = Uniform() <= kLowerPart;
  double log_size = lower ? low + Uniform() * (med - low) : med + Uniform() * (high - med);
  if (kind <= kSerial + kPowerOfTwo) log_size = std::round(log_size);
  return std::clamp<std::int64_t>(std::llround(std::exp2(log_size)), 1, model_.largest);
}

DurationMs ModelJobs::RunOf(std::int64_t size) {
  if (!model_.sizes.empty()) {
    return std::llround(Exponential(static_cast<double>(model_.mean_run)));
  }
  const double first = std::clamp(kFirstBySize * static_cast<double>(size) + kFirst, 0.0, 1.0);
  const double log_s = Uniform() <= first ? Gamma(kShape1, kScale1) : Gamma(kShape2, kScale2);
  return std::llround(1000 * std::min(std::exp(log_s), kLongestS));
}

const std::string& ModelJobs::OneOf(const std::vector<std::string>& names) {
  static const std::string kNone;
  if (names.empty()) return kNone;
  const auto index = static_cast<std::size_t>(Uniform() * static_cast<double>(names.size()));
  return names[std::min(index, names.size() - 1)];
}

bool ModelJobs::Next(TraceJob& job) {
  if (given_ == model_.jobs) return false;
  if (in_burst_ == 0) {
    at_ms_ += Exponential(static_cast<double>(model_.every));
    in_burst_ = 1;
    // Each job of a burst is the last one with probability 1 / `burst`.
    if (model_.burst > 1) {
      while (Uniform() >= 1 / model_.burst && in_burst_ < model_.jobs) ++in_burst_;
    }
  }
  --in_burst_;
  job = TraceJob{};
  job.id = std::to_string(given_++);
  job.submit = std::llround(at_ms_);
  job.tasks = SizeOf();
  job.gpus = 1;
  job.run = std::max<DurationMs>(RunOf(job.tasks), 1);
  job.queue = OneOf(model_.queues);
  job.user = OneOf(model_.users);
  return true;
}

}  // namespace tephra
