// Finds the text of a message that is not UTF-8: slow, asked only when it is known to be there.
#pragma once

#include <google/protobuf/message.h>

#include "topology/base/status.h"

namespace tephra {

// INVALID_ARGUMENT with the path of the first such field; OK where there is none.
absl::Status BadText(const google::protobuf::Message& message);

}  // namespace tephra
