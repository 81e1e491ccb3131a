// FairLine: the turns of one cycle, in the order that fair_order.h describes.
#pragma once

#include <memory>

#include "engine/policy.h"

namespace tephra {

// As Order::LineUp. One owner thread.
std::unique_ptr<Line> MakeFairLine(const Ledger& ledger, const Due& due);

}  // namespace tephra
