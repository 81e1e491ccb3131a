// How a device may be used, as people write it: modes and what goes with them. docs/simulate.md has
// the table.
#pragma once

#include "text/fields.h"
#include "topology/device.h"

namespace tephra {

// `modes`, `split_count`, `mps_clients`, `replicas`, `compute_factor` and `memory_factor`.
void ReadDeviceSharing(Fields& fields, DeviceHardware& device);

// `mig_model`, which has to be there where `modes` names mig. REQUIRES: after ReadDeviceSharing.
void ReadMigModel(Fields& fields, DeviceHardware& device);

}  // namespace tephra
