// The text for domains and nodes in all formats of `tephra topology`.
#pragma once

#include <cstdint>
#include <string>

#include "topology/hardware.h"

namespace tephra {

// "1 node", "2 nodes", "16 GPU".
std::string Count(std::int64_t count, const std::string& what);
std::int64_t GpusIn(const Hardware& hardware, const RankSpan& span);
// "rack-0 (rack, tier 1): 2 nodes, 16 GPU".
std::string DomainTitle(const Hardware& hardware, const Fabric::Domain& domain);
// "n-0: 8 GPU H100"; each model if they differ.
std::string NodeTitle(const NodeSpec& node);

}  // namespace tephra
