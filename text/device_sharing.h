// Reads how a device may be shared: the modes and their settings. docs/reference/simulate.md has
// the table.
#pragma once

#include "base/fields.h"
#include "topology/device.h"

namespace tephra {

// `modes`, `split_count`, `mps_clients`, `replicas`, `compute_factor` and `memory_factor`.
void ReadDeviceSharing(Fields& fields, DeviceHardware& device);

// `mig_model`, which is required if `modes` has mig. REQUIRES: after ReadDeviceSharing.
void ReadMigModel(Fields& fields, DeviceHardware& device);

}  // namespace tephra
