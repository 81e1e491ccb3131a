// Reads the settings of the engine from YAML: the map `engine` of its configuration file, and the
// map `policies` of a simulation.
#pragma once

#include <functional>

#include "base/fields.h"
#include "engine/config_fields.h"

namespace tephra {

// Reads a value in place of the reader of the table; false: it is for the table after all.
using ReadInstead = std::function<bool(const ConfigField& field, const Item& item)>;

// Reads each key of ConfigFields() that `fields` has. A key that is absent leaves its setting as it
// was. REQUIRES: the caller ends with fields.Done().
void ReadSettings(Fields& fields, EngineConfig& config, const ReadInstead& instead = {});

}  // namespace tephra
