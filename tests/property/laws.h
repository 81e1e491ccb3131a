// How often a law is tried, and how a failure names its seed.
//
// TEPHRA_PROPERTY_SCALE multiplies the number of runs; TEPHRA_PROPERTY_SEED tries that one seed
// alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

namespace tephra {

// Sanitizers make a run about ten times as slow; they look for another kind of fault anyway.
#ifdef __SANITIZE_ADDRESS__
constexpr int kSlowdown = 8;
#elif defined(__SANITIZE_THREAD__)
constexpr int kSlowdown = 20;
#else
constexpr int kSlowdown = 1;
#endif

inline double PropertyScale() {
  const char* scale = std::getenv("TEPHRA_PROPERTY_SCALE");
  return scale == nullptr ? 1 : std::atof(scale);
}

// try_one(seed) asserts the law for one seed.
template <class Try>
void ForEachSeed(int runs, Try try_one) {
  if (const char* seed = std::getenv("TEPHRA_PROPERTY_SEED")) {
    INFO("TEPHRA_PROPERTY_SEED=" << seed);
    try_one(static_cast<std::uint64_t>(std::strtoull(seed, nullptr, 10)));
    return;
  }
  const int scaled = static_cast<int>(runs * PropertyScale()) / kSlowdown + 1;
  for (int run = 1; run <= scaled; ++run) {
    INFO("TEPHRA_PROPERTY_SEED=" << run << ", run " << run << " of " << scaled);
    try_one(static_cast<std::uint64_t>(run));
  }
}

}  // namespace tephra
