// Cheapest: the score of this example. It prefers nodes with a low price.
//
// The price is the node label example.com/price, in cents per hour. A node gets 0 points if it has
// no price, or one of 1,000 cents or more.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

#include "plugins/registry.h"

namespace {

using tephra::NodeView;
using tephra::Points;
using tephra::TaskClass;

constexpr int kHighestPrice = 1000;

int PriceOf(const NodeView& view) {
  const auto label = view.spec.labels.find("example.com/price");
  if (label == view.spec.labels.end()) return kHighestPrice;
  const std::string& text = label->second;
  int price = kHighestPrice;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), price).ptr;
  if (end != text.data() + text.size()) return kHighestPrice;  // not a number
  return std::clamp(price, 0, kHighestPrice);
}

class Cheapest final : public tephra::Score {
 public:
  Points Rate(const NodeView& view, const TaskClass&) const override {
    return tephra::kMaxPoints / kHighestPrice * (kHighestPrice - PriceOf(view));
  }
  // All devices of a node are equal to this score, so the lowest index is taken.
  Points RateDevice(const NodeView&, const TaskClass&, const tephra::DeviceAsk&, int,
                    std::uint64_t) const override {
    return 0;
  }
};

const tephra::ScoreRegistration kCheapest("cheapest", [] { return std::make_unique<Cheapest>(); });

}  // namespace
