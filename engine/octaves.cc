#include "engine/octaves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace tephra {

double Octaves(double x) {
  int whole = 0;
  double part = 2 * std::frexp(x, &whole);  // in [1, 2)
  double octaves = whole - 1;
  for (double place = 0.5; place >= 1.0 / 65536; place /= 2) {
    part *= part;
    if (part < 2) continue;
    part /= 2;
    octaves += place;
  }
  return octaves;
}

DurationMs Times(double ms, double octaves) {
  constexpr std::array<double, 8> kEighths = {1,
                                              1.0905077326652577,
                                              1.1892071150027210,
                                              1.2968395546510096,
                                              1.4142135623730951,
                                              1.5422108254079408,
                                              1.6817928305074290,
                                              1.8340080864093424};
  const double whole = std::floor(octaves);
  const auto rest = static_cast<std::size_t>((octaves - whole) * 8);
  const double product = std::ldexp(ms * kEighths[rest], static_cast<int>(whole));
  return static_cast<DurationMs>(std::clamp(product, 1.0, std::ldexp(1.0, static_cast<int>(kMostOctaves))));
}

}  // namespace tephra
