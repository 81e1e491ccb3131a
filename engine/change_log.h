// ChangeLog: which rows changed, in order, so that a reader that keeps something derived from them
// looks only at those. A reader that fell behind what is kept starts over from all rows.
#pragma once

#include <cstdint>
#include <vector>

namespace tephra {

template <class IdType>
class ChangeLog {
 public:
  std::uint64_t end() const { return base_ + ids_.size(); }
  bool Covers(std::uint64_t since) const { return since >= base_; }
  // REQUIRES: Covers(sequence) and sequence < end().
  IdType at(std::uint64_t sequence) const { return ids_[sequence - base_]; }

  void Add(IdType id) { ids_.push_back(id); }
  // Forgets the older half once more than `keep` are held: past that a reader gains nothing.
  void Trim(std::size_t keep) {
    if (ids_.size() <= keep) return;
    const std::size_t drop = ids_.size() - keep / 2;
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(drop));
    base_ += drop;
  }
  // Every reader starts over.
  void Reset() {
    base_ += ids_.size() + 1;
    ids_.clear();
  }

 private:
  std::vector<IdType> ids_;
  std::uint64_t base_ = 0;
};

}  // namespace tephra
