// Base-2 logarithms and powers by operations that are exact or rounded in one way, so that they are
// the same on every machine. Pure.
#pragma once

#include "topology/base/time.h"

namespace tephra {

// Longer than any run or wait that is kept: 35 years.
constexpr double kMostOctaves = 40;

// The base-2 logarithm to 16 binary places. REQUIRES: x > 0.
double Octaves(double x);

// `ms` times 2^octaves, from 1 to 2^kMostOctaves. REQUIRES: whole eighths of an octave.
DurationMs Times(double ms, double octaves);

}  // namespace tephra
