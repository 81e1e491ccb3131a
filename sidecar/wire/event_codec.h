// Events between the wire and the domain.
//
// Both directions are exact: decoding what was encoded gives the same event, doubles included, and
// equal events are equal bytes. Pure functions; any thread.
#pragma once

#include "engine/event.h"
#include "topology/base/status.h"

namespace tephra::v1 {
class Event;
}

namespace tephra {

// INVALID_ARGUMENT, with the field, for what could be written but not read back: text that is not
// UTF-8. `out` is empty before.
absl::Status EncodeEvent(const Event& event, v1::Event* out);

// INVALID_ARGUMENT with the field, its value and what was expected: no fact or one of a later
// version, a part that is missing, an enum value that this version does not know, a number that
// the domain has no room for. Whether the fact makes sense is for the engine to say.
absl::StatusOr<Event> DecodeEvent(const v1::Event& in);

}  // namespace tephra
