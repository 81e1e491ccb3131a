// How often a law is tried, and how a failure names its seed.
//
// TEPHRA_PROPERTY_SCALE multiplies the number of runs; TEPHRA_PROPERTY_SEED tries that one seed
// alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/sanitized.h"

namespace tephra {

inline double PropertyScale() {
  const char* scale = std::getenv("TEPHRA_PROPERTY_SCALE");
  return scale == nullptr ? 1 : std::atof(scale);
}

// Whether all seeds of a normal run are tried: totals are only checked then.
inline bool AllSeeds() {
  return kSlowdown == 1 && PropertyScale() >= 1 && std::getenv("TEPHRA_PROPERTY_SEED") == nullptr;
}

// try_one(seed) asserts the law for one seed. `broken`: seeds that broke it once, always tried.
template <class Try>
void ForEachSeed(int runs, std::initializer_list<std::uint64_t> broken, Try try_one) {
  if (const char* seed = std::getenv("TEPHRA_PROPERTY_SEED")) {
    INFO("TEPHRA_PROPERTY_SEED=" << seed);
    try_one(static_cast<std::uint64_t>(std::strtoull(seed, nullptr, 10)));
    return;
  }
  for (const std::uint64_t seed : broken) {
    INFO("TEPHRA_PROPERTY_SEED=" << seed << ", which broke it once");
    try_one(seed);
  }
  const int scaled = static_cast<int>(runs * PropertyScale()) / kSlowdown + 1;
  for (int run = 1; run <= scaled; ++run) {
    INFO("TEPHRA_PROPERTY_SEED=" << run << ", run " << run << " of " << scaled);
    try_one(static_cast<std::uint64_t>(run));
  }
}

template <class Try>
void ForEachSeed(int runs, Try try_one) {
  ForEachSeed(runs, {}, try_one);
}

}  // namespace tephra
