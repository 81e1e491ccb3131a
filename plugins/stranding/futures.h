// Futures: the mean of a node's idle compute that expected pods will not use.
//
// Pods are drawn one after another, each kind at its rate, and are placed if they fit. After each
// draw the process ends with a small probability. A pod that requests a share takes it from the
// partly used device if it fits there, and otherwise from an idle device. A state s is the number
// of idle devices, the free part of the partly used device, and the free CPU. U(s) is the mean
// compute left in state s, e is the rate of the end, and m runs over the kinds of pods that fit:
//
//   U(s) = (e x left(s) + sum over m of rate(m) x U(s with m placed)) / (e + sum of rate(m)).
//
// Each placement lowers s, so one pass from the smallest state up solves it. Two parts are
// approximate: values between points of the CPU grid, and a second partly used device, which counts
// as if filled separately. Immutable after construction; any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace tephra {

// A kind of pod that may take devices of the node.
struct Drawn {
  double cpu = 0;            // milli-cores
  std::int32_t devices = 0;  // whole devices; 0: a share of one device
  std::int32_t percent = 0;  // of that device, rounded up
  double rate = 0;           // of all draws, including draws of pods that may not run here
};

class Futures {
 public:
  explicit Futures(const std::vector<Drawn>& pods);
  // The compute that is expected to stay idle, in devices, with `idle` idle devices and one partly
  // used device with `percent` free (0: there is none). CPU in milli-cores; more than 128 cores for
  // 8 devices does not count. REQUIRES: percent is below 100.
  double Left(std::int64_t idle, std::int32_t percent, double cpu) const;

 private:
  struct State {
    std::int32_t idle, percent;
  };
  // A place between two points of the CPU grid: the lower point, and the fraction to the next.
  struct Place {
    std::int32_t point;
    double part;
  };
  // A pod for which the CPU suffices, and the CPU that it leaves.
  struct Step {
    Drawn pod;
    Place rest;
  };
  static Place PlaceOf(double cpu);
  double At(State state, Place place) const;
  double Solve(const std::vector<Step>& steps, State state) const;

  std::vector<float> left_;  // by idle devices, percent, grid point of CPU
};

}  // namespace tephra
