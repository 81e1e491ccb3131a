// What facts have to be like in which several of them are alike. INVALID_ARGUMENT says what is not.
#pragma once

#include <string>

#include "queue/job.h"
#include "topology/base/status.h"
#include "topology/resources.h"

namespace tephra {

// A kind comes after the KindsDeclared that names it. `of` is "job" and the like.
absl::Status CheckDeclared(const ResourceKinds& kinds, const char* of, const std::string& name,
                           KindSet used);
// The same, of amounts in which no GPU model may be named.
absl::Status CheckNamed(const ResourceKinds& kinds, const char* of, const std::string& name,
                        KindSet used);
absl::Status ValidateSlices(const std::string& where, const Slices& slices);
// That the pod asks for.
KindSet KindsOf(const PodTemplate& pod);

}  // namespace tephra
