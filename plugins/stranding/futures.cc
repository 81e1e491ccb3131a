#include "plugins/stranding/futures.h"

#include <algorithm>

namespace tephra {
namespace {

// The mean number of draws before the end. README.md says how it was chosen.
constexpr double kDraws = 60;
constexpr double kEnd = 1 / kDraws;

// More idle devices are split into groups of this size, each with its part of the CPU.
constexpr std::int32_t kMostIdle = 8;
constexpr std::int32_t kPercents = 100;  // a partly used device has 0 to 99 free

// The CPU grid has steps of half a core where one pod makes a difference, and coarser steps above.
// U is linear between two points.
struct Stretch {
  double from, to, step;
  std::int32_t first;  // index of `from`
};
constexpr Stretch kGrid[] = {
    {0, 32'000, 500, 0}, {32'000, 64'000, 1000, 64}, {64'000, 128'000, 2000, 96}};
constexpr std::int32_t kLast = 128;  // the point of 128 cores
constexpr std::int32_t kPoints = kLast + 1;

double CpuOf(std::int32_t point) {
  const Stretch& stretch = kGrid[point >= kGrid[2].first ? 2 : point >= kGrid[1].first ? 1 : 0];
  return stretch.from + (point - stretch.first) * stretch.step;
}

std::size_t Row(std::int32_t idle, std::int32_t percent) {
  return static_cast<std::size_t>(idle * kPercents + percent) * kPoints;
}

}  // namespace

Futures::Futures(const std::vector<Drawn>& pods)
    : left_(Row(kMostIdle, kPercents - 1) + kPoints, 0.0f) {
  std::vector<Step> steps;
  for (std::int32_t point = 0; point < kPoints; ++point) {
    steps.clear();
    const double cpu = CpuOf(point);
    for (const Drawn& pod : pods) {
      if (pod.cpu <= cpu) steps.push_back({pod, PlaceOf(cpu - pod.cpu)});
    }
    for (std::int32_t idle = 0; idle <= kMostIdle; ++idle) {
      for (std::int32_t percent = 0; percent < kPercents; ++percent) {
        left_[Row(idle, percent) + static_cast<std::size_t>(point)] =
            static_cast<float>(Solve(steps, {idle, percent}));
      }
    }
  }
}

Futures::Place Futures::PlaceOf(double cpu) {
  if (cpu >= kGrid[2].to) return {kLast - 1, 1};
  const Stretch& stretch = kGrid[cpu >= kGrid[2].from ? 2 : cpu >= kGrid[1].from ? 1 : 0];
  const double steps = (cpu - stretch.from) / stretch.step;
  const auto below = static_cast<std::int32_t>(steps);
  return {stretch.first + below, steps - below};
}

double Futures::At(State state, Place place) const {
  const float* at = &left_[Row(state.idle, state.percent) + static_cast<std::size_t>(place.point)];
  return at[0] + place.part * (double{at[1]} - at[0]);
}

// REQUIRES: every smaller state is solved.
double Futures::Solve(const std::vector<Step>& steps, State state) const {
  double sum = kEnd * (state.idle + state.percent / 100.0), rates = kEnd;
  for (const auto& [pod, rest] : steps) {
    double left = 0;
    if (pod.devices > 0) {
      if (pod.devices > state.idle) continue;
      left = At({state.idle - pod.devices, state.percent}, rest);
    } else if (pod.percent <= state.percent) {
      left = At({state.idle, state.percent - pod.percent}, rest);
    } else if (state.idle > 0) {
      // The search continues with the larger rest. The smaller rest counts as if filled separately.
      const std::int32_t opened = kPercents - pod.percent;
      left = At({state.idle - 1, std::max(opened, state.percent)}, rest) +
             At({0, std::min(opened, state.percent)}, rest);
    } else {
      continue;
    }
    sum += pod.rate * left;
    rates += pod.rate;
  }
  return sum / rates;
}

double Futures::Left(std::int64_t idle, std::int32_t percent, double cpu) const {
  cpu = std::max(cpu, 0.0);
  double left = 0;
  const double each = idle == 0 ? 0 : cpu / static_cast<double>(idle);
  for (; idle > kMostIdle; idle -= kMostIdle) {
    left += At({kMostIdle, 0}, PlaceOf(each * kMostIdle));
    cpu -= each * kMostIdle;
  }
  return left + At({static_cast<std::int32_t>(idle), percent}, PlaceOf(std::max(cpu, 0.0)));
}

}  // namespace tephra
