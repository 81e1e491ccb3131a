// Futures: how much of a node's idle compute is left when the pods to come have come and taken
// what they can, in the mean over all that may come.
//
// Pods are drawn one after another, each kind at its rate, and whoever fits is placed; after each
// draw the end comes with a small chance. One that wants a share takes it from the begun device
// where it fits, or begins an idle one. With U(s) for the mean left in state s (idle devices, the
// rest of the begun one, free CPU), e for the chance of the end against a draw, and m for the pods
// that fit,
//
//   U(s) = (e x left(s) + sum over m of rate(m) x U(s with m placed)) / (e + sum of rate(m)).
//
// Every placement lowers s, so one pass from the smallest state up solves it: exactly, but for what
// is between two points of the CPU grid, and for a second begun device, which is counted as filled
// for itself.
#pragma once

#include <cstdint>
#include <vector>

namespace tephra {

// A kind of pod that may take devices of the node.
struct Drawn {
  double cpu = 0;            // milli-cores
  std::int32_t devices = 0;  // whole ones; 0: a share of one
  std::int32_t percent = 0;  // of that one, rounded up
  double rate = 0;           // of all draws; those of pods that may not run here are missing
};

class Futures {
 public:
  explicit Futures(const std::vector<Drawn>& pods);
  // Devices' worth of compute expected to stay idle, of so many idle devices and one begun that has
  // `percent` of itself free (0: there is none). CPU in milli-cores; what is beyond 128 cores for 8
  // devices does not count. REQUIRES: percent is below 100.
  double Left(std::int64_t idle, std::int32_t percent, double cpu) const;

 private:
  struct State {
    std::int32_t idle, percent;
  };
  // Between two points of the CPU grid: the lower one, and how far from it to the next.
  struct Place {
    std::int32_t point;
    double part;
  };
  // A pod that the CPU is enough for, and where that leads.
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
