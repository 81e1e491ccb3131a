#include "simulations/report/curve.h"

namespace tephra {
namespace {

// times x part / whole, a half rounded to the even neighbour. REQUIRES: no amount is negative.
std::int64_t RoundedRatio(std::int64_t times, std::int64_t part, std::int64_t whole) {
  const std::int64_t down = times * part / whole, twice_rest = 2 * (times * part % whole);
  const bool up = twice_rest > whole || (twice_rest == whole && down % 2 != 0);
  return down + (up ? 1 : 0);
}

}  // namespace

void Curve::Add(std::int64_t arrived, std::int64_t used, std::int64_t fragment,
                std::int64_t total) {
  if (total <= 0) return;
  const std::int64_t percent = RoundedRatio(100, arrived, total);
  if (percent >= kPercents) return;
  Sums& sums = sums_[static_cast<std::size_t>(percent)];
  const double lost = static_cast<double>(fragment) / 1000;
  ++sums.points;
  sums.allocated += RoundedRatio(100 * 100, used, total);
  sums.fragment += 100 * lost / static_cast<double>(total);
  if (used < total) sums.fragment_of_idle += 100 * lost / static_cast<double>(total - used);
}

std::optional<Curve::Bin> Curve::At(int percent) const {
  const Sums& sums = sums_[static_cast<std::size_t>(percent)];
  if (sums.points == 0) return std::nullopt;
  const auto points = static_cast<double>(sums.points);
  return Bin{sums.points, static_cast<double>(sums.allocated) / points / 100,
             sums.fragment / points, sums.fragment_of_idle / points};
}

}  // namespace tephra
