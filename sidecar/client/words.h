// Parts of an answer in words for people. Pure functions.
#pragma once

#include <string>

#include <google/protobuf/repeated_field.h>

#include "tephra/v1/service.pb.h"
#include "topology/resources.h"

namespace tephra {

using Names = google::protobuf::RepeatedPtrField<std::string>;
using Amounts = google::protobuf::RepeatedPtrField<v1::Amount>;

// The kind's amount; 0 where it is not named.
std::int64_t AmountOf(const Amounts& amounts, Kind kind);
// "12 CPUs", "64 GiB memory", "2.5 GPUs", with the kind names of the engine.
std::string AmountWords(const Names& kinds, Kind kind, std::int64_t amount);
// "2.5": GPUs alone.
std::string GpuWords(std::int64_t per_mille);
// "12.5": hours, to a tenth.
std::string HoursWords(double hours);

// The state of the whole job: "is pending", "runs", "can start", "has a reserved start".
std::string StandingWords(const v1::JobView& job);
std::string PhaseWords(v1::TaskPhase phase);
std::string LifecycleWords(v1::QueueLifecycle lifecycle);
// "0,1" or "3 (500/1000, 8000 MiB)".
std::string SliceWords(const google::protobuf::RepeatedPtrField<v1::Slice>& slices);
// "3m20s" between the two times.
std::string AgeWords(std::int64_t from_ms, std::int64_t to_ms);
// "2026-11-21T12:00:00Z".
std::string TimeWords(std::int64_t unix_ms);

}  // namespace tephra
