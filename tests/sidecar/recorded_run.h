// Small runs of a real engine with their journals, and ways to spoil those.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/plan.h"
#include "tephra/v1/journal.pb.h"

namespace tephra {

struct RecordedRun {
  std::string journal;
  std::vector<std::string> plans;  // as bytes, in order
  int events = 0, refused = 0, placements = 0;
};

// A random cluster and its jobs for a few ticks: pods come up, end and vanish, placements are
// refused, a node goes and comes back, and some events make no sense. The same for one seed.
RecordedRun RunAndRecord(std::uint64_t seed, int ticks = 6);

// One in which some pods get a place and some events are refused.
RecordedRun RunThatPlaces();

// The offsets at which the frames of the journal end, the header's first.
std::vector<std::size_t> FrameEnds(const std::string& journal);

// The journal with its records changed and all lengths and check sums right again. `change` gets
// each record with its number and may clear it: then it is left out.
using ChangeRecord = std::function<void(std::size_t number, v1::JournalRecord& record)>;
std::string Rewritten(const std::string& journal, const ChangeRecord& change);

}  // namespace tephra
