// Curve: the allocated and the fragmented part of the cluster's GPUs as a function of the GPUs
// requested so far.
//
// A point is recorded after every cycle with arrivals. Given, in milli-GPUs: requested so far A,
// allocated U, total T, idle but not usable by the typical pods F. Computed: arrived = 100 A/T
// rounded to whole percent, a half to the even one, and for each of these the means over its points
// of 100 U/T, 100 F/T and 100 F/(T-U), where 100 U/T is first rounded to two decimals (Weng et al.,
// USENIX ATC 2023: its simulator prints two, and its analysis takes the means of what was printed).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tephra {

class Curve {
 public:
  static constexpr int kPercents = 131;  // 0 to 130, as published

  struct Bin {
    std::int64_t points = 0;
    double allocated = 0;  // means, in percent
    double fragment = 0;
    double fragment_of_idle = 0;
  };

  // Milli-GPUs; `fragment` in thousandths of that. A cluster without GPUs has no curve.
  void Add(std::int64_t arrived, std::int64_t used, std::int64_t fragment, std::int64_t total);

  // None if no point fell there.
  std::optional<Bin> At(int percent) const;

 private:
  struct Sums {
    std::int64_t points = 0;
    std::int64_t allocated = 0;  // in hundredths of a percent
    double fragment = 0, fragment_of_idle = 0;
  };
  std::vector<Sums> sums_ = std::vector<Sums>(kPercents);
};

}  // namespace tephra
