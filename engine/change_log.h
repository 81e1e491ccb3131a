// ChangeLog: which rows changed since a reader last looked, so that what is derived from them
// follows at the cost of the rows that changed, however often each did.
//
// A list of the rows, the one that changed last in front. Memory: 16 bytes a row.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace tephra {

template <class IdType>
class ChangeLog {
 public:
  // What a reader that has seen everything keeps.
  std::uint64_t end() const { return end_; }
  // False: what the reader derived is void, and it starts over from all rows.
  bool Covers(std::uint64_t since) const { return since >= base_; }
  // Calls visit(id) once for each row that changed since, the latest first. `visit` leaves this log
  // as it is. REQUIRES: Covers(since).
  template <class Visit>
  void EachSince(std::uint64_t since, Visit visit) const {
    for (std::uint32_t row = newest_; row != kNone && places_[row].changed > since;
         row = places_[row].older) {
      visit(IdType(row));
    }
  }

  void Add(IdType id) {
    const auto row = static_cast<std::uint32_t>(id.index());
    if (row >= places_.size()) places_.resize(row + 1);
    if (newest_ != row) MoveToFront(row);
    places_[row].changed = ++end_;
  }
  // Every reader starts over.
  void Reset() {
    base_ = ++end_;
    newest_ = kNone;
    places_.clear();
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Place {
    std::uint64_t changed = 0;  // end() just after; 0: not in the list
    std::uint32_t older = kNone, newer = kNone;
  };

  void MoveToFront(std::uint32_t row) {
    Place& place = places_[row];
    if (place.changed != 0) {  // some row is newer
      places_[place.newer].older = place.older;
      if (place.older != kNone) places_[place.older].newer = place.newer;
    }
    place.older = newest_;
    place.newer = kNone;
    if (newest_ != kNone) places_[newest_].newer = row;
    newest_ = row;
  }

  std::vector<Place> places_;  // by row
  std::uint32_t newest_ = kNone;
  std::uint64_t base_ = 0, end_ = 0;
};

}  // namespace tephra
