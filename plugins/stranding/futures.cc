#include "plugins/stranding/futures.h"

#include <algorithm>
#include <array>

namespace tephra {
namespace {

// The mean number of draws before the end, for each idle device. README.md says how it was chosen.
constexpr float kDraws = 200;

// More idle devices are split into groups of this size, each with its part of the CPU.
constexpr std::int32_t kMostIdle = 8;
constexpr std::int32_t kPercents = 100;  // a partly used device has 0 to 99 free
constexpr std::size_t kMostCores = 128;
// By free cores, linear between two.
using Column = std::array<float, kMostCores + 1>;

std::size_t Row(std::int32_t idle, std::int32_t percent) {
  return static_cast<std::size_t>(idle * kPercents + percent);
}

// Solves Left for all amounts of CPU at once, in loops that a compiler can vectorize.
class LeftSolver {
 public:
  explicit LeftSolver(const std::vector<Drawn>& drawn) : left_(Row(kMostIdle, kPercents)) {
    for (std::int32_t idle = 0; idle <= kMostIdle; ++idle) {
      for (std::int32_t percent = 0; percent < kPercents; ++percent) {
        const float end = 1 / (kDraws * static_cast<float>(std::max(idle, 1)));
        sum_.fill(end * (static_cast<float>(idle) + static_cast<float>(percent) / kPercents));
        rates_.fill(end);
        for (const Drawn& each : drawn) {
          if (each.rate > 0) Place(each, idle, percent);
        }
        Column& left = left_[Row(idle, percent)];
        for (std::size_t c = 0; c < left.size(); ++c) left[c] = sum_[c] / rates_[c];
      }
    }
  }
  const std::vector<Column>& left() const { return left_; }

 private:
  // REQUIRES: every smaller state is solved.
  void Place(const Drawn& drawn, std::int32_t idle, std::int32_t percent) {
    const PodKind& pod = drawn.pod;
    if (pod.devices > idle || CoresOf(pod) > kMostCores) return;
    if (pod.devices > 0) {
      AddLeft(drawn, left_[Row(idle - pod.devices, percent)]);
    } else if (pod.percent <= percent) {
      AddLeft(drawn, left_[Row(idle, percent - pod.percent)]);
    } else if (idle > 0) {
      // The search continues with the larger rest. The smaller rest counts as if filled separately.
      const std::int32_t opened = kPercents - pod.percent;
      AddLeft(drawn, left_[Row(idle - 1, std::max(opened, percent))]);
      AddLeft(drawn, left_[Row(0, std::min(opened, percent))]);
    } else {
      return;
    }
    const auto rate = static_cast<float>(drawn.rate);
    for (std::size_t c = CoresOf(pod); c < rates_.size(); ++c) rates_[c] += rate;
  }

  void AddLeft(const Drawn& drawn, const Column& then) {
    const std::size_t cores = CoresOf(drawn.pod);
    // Of c cores, c - cores + part stay free.
    const float part = static_cast<float>(cores) - CpuOf(drawn.pod);
    const auto rate = static_cast<float>(drawn.rate);
    const float* below = then.data();
    const float* above = cores > 0 ? below + 1 : below;
    float* sum = sum_.data() + cores;
    for (std::size_t c = 0; c < sum_.size() - cores; ++c) {
      sum[c] += rate * (below[c] + part * (above[c] - below[c]));
    }
  }

  static float CpuOf(const PodKind& pod) {
    return static_cast<float>(pod.cpu) / static_cast<float>(kMilliPerCore);
  }
  static std::size_t CoresOf(const PodKind& pod) {
    return static_cast<std::size_t>((pod.cpu + kMilliPerCore - 1) / kMilliPerCore);
  }

  std::vector<Column> left_;  // by Row
  Column sum_, rates_;        // of the state that is being solved
};

}  // namespace

Futures::Futures(const std::vector<Drawn>& drawn) {
  const LeftSolver solver(drawn);
  worth_.reserve(solver.left().size() * Column().size());
  for (const Column& column : solver.left()) {
    for (const float left : column) worth_.push_back(-left);
  }
  for (const Drawn& each : drawn) {
    if (each.weight > 0) AddRoom(each);
  }
}

void Futures::AddRoom(const Drawn& drawn) {
  constexpr std::int64_t kMost = (kMostIdle + 1) * kPercents;  // more than fit on the devices
  const auto weight = static_cast<float>(drawn.weight * drawn.pod.gpus());
  Column by_cpu;  // numbers of pods are floats for the sake of the loop below
  for (std::size_t c = 0; c < by_cpu.size(); ++c) {
    const auto cpu = static_cast<std::int64_t>(c) * kMilliPerCore;
    by_cpu[c] = static_cast<float>(std::min(drawn.pod.FittingCpu(cpu), kMost));
  }
  float* at = worth_.data();
  for (std::int32_t idle = 0; idle <= kMostIdle; ++idle) {
    for (std::int32_t percent = 0; percent < kPercents; ++percent, at += by_cpu.size()) {
      const auto fitting = static_cast<float>(drawn.pod.Fitting(idle, percent));
      if (fitting == 0) continue;
      for (std::size_t c = 0; c < by_cpu.size(); ++c)
        at[c] += weight * std::min(fitting, by_cpu[c]);
    }
  }
}

double Futures::At(std::int32_t idle, std::int32_t percent, double cpu) const {
  const float* column = &worth_[Row(idle, percent) * Column().size()];
  const double cores = cpu / static_cast<double>(kMilliPerCore);
  if (cores >= kMostCores) return column[kMostCores];
  const auto below = static_cast<std::size_t>(cores);
  const double part = cores - static_cast<double>(below);
  return column[below] + part * (double{column[below + 1]} - column[below]);
}

double Futures::Worth(std::int64_t idle, std::int32_t percent, double cpu) const {
  cpu = std::max(cpu, 0.0);
  double worth = 0;
  const double each = idle == 0 ? 0 : cpu / static_cast<double>(idle);
  for (; idle > kMostIdle; idle -= kMostIdle) {
    worth += At(kMostIdle, 0, each * kMostIdle);
    cpu -= each * kMostIdle;
  }
  return worth + At(static_cast<std::int32_t>(idle), percent, std::max(cpu, 0.0));
}

}  // namespace tephra
