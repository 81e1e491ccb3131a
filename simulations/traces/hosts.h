// Hosts of a CSV file and the switches that they are under, a column for each tier, as in
// alibaba/alibaba-lingjun-dataset-2023 (ip,DSW,PSW,ASW).
#pragma once

#include <string>
#include <vector>

#include "topology/base/status.h"
#include "topology/domain.h"

namespace tephra {

struct Hosts {
  std::vector<std::string> names;   // as in the file
  std::vector<DomainSpec> domains;  // by name
};

// `name`: the column of the host's name. `tiers`: columns of what it is in, the nearest first: tier
// 1, 2, ...; at least one. A domain is named after its own column and those above it
// ("G6/P10/S14"), for switches of one name may be under different ones; its tier after its column.
// An empty value: the host is in nothing of that tier.
//
// INVALID_ARGUMENT with file, line and column: a host that is empty or named twice, a value with a
// slash, a column that is not there.
absl::StatusOr<Hosts> ReadHosts(const std::string& path, const std::string& name,
                                const std::vector<std::string>& tiers);

}  // namespace tephra
