// Jobs, pods and queues between the wire and the domain. Pure functions, as in node_codec.h.
#pragma once

#include "queue/job.h"
#include "queue/queue_tree.h"
#include "sidecar/wire/node_codec.h"

namespace tephra {

void Encode(const PodTemplate& in, TextCopier& text, v1::PodTemplate* out);
absl::Status Decode(const v1::PodTemplate& in, const FieldPath& at, PodTemplate& out);

void Encode(const JobSpec& in, TextCopier& text, v1::Job* out);
absl::Status Decode(const v1::Job& in, const FieldPath& at, JobSpec& out);

void Encode(const QueueSpec& in, TextCopier& text, v1::Queue* out);
absl::Status Decode(const v1::Queue& in, const FieldPath& at, QueueSpec& out);

}  // namespace tephra
