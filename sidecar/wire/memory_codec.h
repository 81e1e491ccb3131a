// Memory on the wire and back.
#pragma once

#include "engine/memory.h"
#include "sidecar/wire/text.h"
#include "tephra/v1/event.pb.h"

namespace tephra {

void Encode(const Memory& in, TextCopier& text, v1::Memory* out);
// What is wrong in it State says.
Memory Decode(const v1::Memory& in);

}  // namespace tephra
