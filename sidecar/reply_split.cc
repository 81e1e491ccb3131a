#include "sidecar/reply_split.h"

#include <utility>

namespace tephra {
namespace {

// Fills one message after the other.
class Splitter {
 public:
  Splitter(const v1::CycleReply& whole, std::size_t bytes)
      : epoch_(whole.epoch()), sequence_(whole.sequence()), bytes_(bytes) {}

  // The message that takes something of that size next.
  v1::CycleReply& RoomFor(std::size_t size) {
    if (parts_.empty() || used_ + size > bytes_) {
      v1::CycleReply& part = parts_.emplace_back();
      part.set_epoch(epoch_);
      part.set_sequence(sequence_);
      part.set_more(true);
      used_ = 0;
    }
    used_ += size;
    return parts_.back();
  }

  std::vector<v1::CycleReply> Take() && { return std::move(parts_); }

 private:
  std::uint64_t epoch_;
  std::uint64_t sequence_;
  std::size_t bytes_;
  std::size_t used_ = 0;  // of the last message
  std::vector<v1::CycleReply> parts_;
};

}  // namespace

std::vector<v1::CycleReply> SplitReply(v1::CycleReply whole, std::size_t bytes) {
  Splitter splitter(whole, bytes);
  if (whole.ByteSizeLong() > bytes) {
    v1::Plan& plan = *whole.mutable_plan();
    for (v1::Decision& decision : *plan.mutable_decisions()) {
      splitter.RoomFor(decision.ByteSizeLong()).mutable_plan()->add_decisions()->Swap(&decision);
    }
    for (v1::Decision& proposal : *plan.mutable_proposals()) {
      splitter.RoomFor(proposal.ByteSizeLong()).mutable_plan()->add_proposals()->Swap(&proposal);
    }
    for (v1::Note& note : *whole.mutable_notes()) {
      splitter.RoomFor(note.ByteSizeLong()).add_notes()->Swap(&note);
    }
    plan.clear_decisions();
    plan.clear_proposals();
    whole.clear_notes();
  }
  std::vector<v1::CycleReply> parts = std::move(splitter).Take();
  parts.push_back(std::move(whole));
  return parts;
}

}  // namespace tephra
