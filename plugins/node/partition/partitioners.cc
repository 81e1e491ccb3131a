#include "plugins/node/partition/partitioners.h"

#include <algorithm>
#include <set>
#include <string>

#include "plugins/node/slices_annotation.h"

namespace tephra::node {
namespace {

bool HasMode(const Grant& grant, SliceMode mode) {
  return std::any_of(grant.slices.begin(), grant.slices.end(),
                     [&](const GrantedSlice& slice) { return slice.mode == mode; });
}

}  // namespace

void Partitioners::Remember(const std::vector<Grant>& live, const Gpus& gpus) {
  for (const std::unique_ptr<Partitioner>& each : by_mode_) {
    if (each != nullptr) each->Remember(live, gpus);
  }
}

std::vector<std::string> Partitioners::Leftovers(const Gpus& gpus) const {
  std::set<std::string> uuids;
  for (const std::unique_ptr<Partitioner>& each : by_mode_) {
    if (each == nullptr) continue;
    for (std::string& uuid : each->Leftovers(gpus)) uuids.insert(std::move(uuid));
  }
  return {uuids.begin(), uuids.end()};
}

absl::Status Partitioners::Tidy(const std::string& uuid, const Gpus& gpus) {
  absl::Status first;
  for (const std::unique_ptr<Partitioner>& each : by_mode_) {
    if (each != nullptr) first.Update(each->Tidy(uuid, gpus));
  }
  return first;
}

absl::Status Partitioners::Apply(const Grant& grant, const Gpus& gpus, Edits& edits, const Step& step) {
  absl::Status status;
  for (std::size_t m = 0; m < kSliceModes && status.ok(); ++m) {
    const auto mode = static_cast<SliceMode>(m);
    if (!HasMode(grant, mode)) continue;
    status =
        by_mode_[m] == nullptr
            ? absl::FailedPreconditionError(
                  std::string("this node has no GPUs that can be shared in the mode \"") +
                  ModeWord(mode) + "\"")
            : by_mode_[m]->Apply(grant, gpus, edits);
    if (status.ok()) step("applied", mode);
  }
  return status;
}

absl::Status Partitioners::Undo(const Grant& grant, const Gpus& gpus, const Step& step) {
  absl::Status first;
  for (std::size_t m = kSliceModes; m-- > 0;) {
    const auto mode = static_cast<SliceMode>(m);
    if (by_mode_[m] == nullptr || !HasMode(grant, mode)) continue;
    const absl::Status undone = by_mode_[m]->Undo(grant, gpus);
    if (undone.ok()) step("undone", mode);
    first.Update(undone);
  }
  return first;
}

}  // namespace tephra::node
