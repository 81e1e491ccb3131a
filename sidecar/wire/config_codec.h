// EngineConfig as tephra.v1.Config. Both directions follow ConfigFields().
#pragma once

#include "engine/config.h"
#include "sidecar/wire/field_path.h"
#include "sidecar/wire/text.h"
#include "tephra/v1/event.pb.h"

namespace tephra {

void EncodeConfig(const EngineConfig& in, TextCopier& text, v1::Config* out);
// INVALID_ARGUMENT names the enum field, its value and what was expected. Numbers are not checked:
// the engine does that.
absl::Status DecodeConfig(const v1::Config& in, const FieldPath& at, EngineConfig& out);

}  // namespace tephra
