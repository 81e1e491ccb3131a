// Nodes, their domains and what pods ask of them, between the wire and the domain. Pure functions.
//
// Decode fills a value that was default-constructed; INVALID_ARGUMENT names the field.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include "sidecar/wire/field_path.h"
#include "sidecar/wire/text.h"
#include "tephra/v1/event.pb.h"
#include "topology/domain.h"
#include "topology/node.h"

namespace tephra {

using WireAmounts = google::protobuf::RepeatedPtrField<v1::Amount>;
using WireSlices = google::protobuf::RepeatedPtrField<v1::Slice>;

void Encode(const Resources& in, WireAmounts* out);
absl::Status Decode(const WireAmounts& in, const FieldPath& parent, const char* field,
                    Resources& out);

void Encode(const Slices& in, WireSlices* out);
absl::Status Decode(const WireSlices& in, const FieldPath& parent, const char* field, Slices& out);

void Encode(const NodeSpec& in, TextCopier& text, v1::Node* out);
absl::Status Decode(const v1::Node& in, const FieldPath& at, NodeSpec& out);

void Encode(const DomainSpec& in, TextCopier& text, v1::Domain* out);
void Decode(const v1::Domain& in, DomainSpec& out);

void Encode(const NodeConstraints& in, TextCopier& text, v1::NodeConstraints* out);
absl::Status Decode(const v1::NodeConstraints& in, const FieldPath& at, NodeConstraints& out);

}  // namespace tephra
