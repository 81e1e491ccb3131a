// Jobs, pods and queues between the wire and the domain. Pure functions, as in node_codec.h.
#pragma once

#include "queue/job.h"
#include "queue/queue_tree.h"
#include "sidecar/wire/node_codec.h"

namespace tephra {

// Gangs inside gangs beyond this are refused in both directions; protobuf itself reads 100 levels
// of messages.
constexpr int kMaxGangDepth = 32;

void Encode(const PodTemplate& in, TextCopier& text, v1::PodTemplate* out);
absl::Status Decode(const v1::PodTemplate& in, const FieldPath& at, PodTemplate& out);

absl::Status Encode(const JobSpec& in, const FieldPath& at, TextCopier& text, v1::Job* out);
absl::Status Decode(const v1::Job& in, const FieldPath& at, JobSpec& out);

void Encode(const QueueSpec& in, TextCopier& text, v1::Queue* out);
absl::Status Decode(const v1::Queue& in, const FieldPath& at, QueueSpec& out);

}  // namespace tephra
