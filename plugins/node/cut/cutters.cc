#include "plugins/node/cut/cutters.h"

#include <algorithm>
#include <string>

#include "plugins/node/slices_annotation.h"

namespace tephra::node {
namespace {

bool HasMode(const Grant& grant, SliceMode mode) {
  return std::any_of(grant.slices.begin(), grant.slices.end(),
                     [&](const GrantedSlice& slice) { return slice.mode == mode; });
}

}  // namespace

absl::Status Cutters::Restore(const std::vector<Grant>& live, const Gpus& gpus) {
  absl::Status first;
  for (const std::unique_ptr<Cutter>& cutter : by_mode_) {
    if (cutter != nullptr) first.Update(cutter->Restore(live, gpus));
  }
  return first;
}

absl::Status Cutters::Cut(const Grant& grant, const Gpus& gpus, Edits& edits, const Step& step) {
  absl::Status status;
  for (std::size_t m = 0; m < kSliceModes && status.ok(); ++m) {
    const auto mode = static_cast<SliceMode>(m);
    if (!HasMode(grant, mode)) continue;
    status =
        by_mode_[m] == nullptr
            ? absl::FailedPreconditionError(
                  std::string("this node cannot cut GPUs in the mode \"") + ModeWord(mode) + "\"")
            : by_mode_[m]->Cut(grant, gpus, edits);
    if (status.ok()) step("cut", mode);
  }
  return status;
}

absl::Status Cutters::Undo(const Grant& grant, const Gpus& gpus, const Step& step) {
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
