#include "simulations/traces/percentiles.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "topology/base/check.h"

namespace tephra {
namespace {

constexpr int kBits = 11;
constexpr std::uint64_t kHalf = std::uint64_t{1} << (kBits - 1);

// Amounts below 2 * kHalf have one bucket each; above, kHalf buckets for each power of two.
std::uint32_t PlaceOf(std::uint64_t amount) {
  const int shift = std::max(static_cast<int>(std::bit_width(amount)) - kBits, 0);
  return static_cast<std::uint32_t>(kHalf * static_cast<std::uint64_t>(shift) + (amount >> shift));
}

}  // namespace

void Percentiles::Add(std::int64_t amount) {
  TEPHRA_CHECK(amount >= 0);
  Place& place = places_[PlaceOf(static_cast<std::uint64_t>(amount))];
  ++place.count;
  place.most = std::max(place.most, amount);
  least_ = count_ == 0 ? amount : std::min(least_, amount);
  most_ = std::max(most_, amount);
  ++count_;
}

std::int64_t Percentiles::At(int percent) const {
  TEPHRA_CHECK(percent > 0 && percent <= 100);
  // No overflow, because the number of lines is limited.
  const std::int64_t wanted = (count_ * percent + 99) / 100;
  std::vector<std::pair<std::uint32_t, Place>> places(places_.begin(), places_.end());
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::int64_t seen = 0;
  for (const auto& [at, place] : places) {
    seen += place.count;
    if (seen >= wanted && seen > 0) return place.most;
  }
  return 0;
}

}  // namespace tephra
