// UidIndex: finds the row of a uid. The uid itself is in the row alone, so an entry takes 8 bytes.
//
// An open hash table with linear probing, at most three quarters full. Nothing reads it in its
// order. Its owner also has the rows, and gives them to each call. One owner thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/base/stable_rows.h"

namespace tephra {

// `Row` has a string `uid`, and IdType is the index of a row.
template <typename Row, typename IdType>
class UidIndex {
 public:
  using Rows = StableRows<Row>;

  // Invalid: no row is known by that uid.
  IdType Find(const Rows& rows, std::string_view uid) const {
    if (size_ == 0) return IdType();
    return entries_[Seek(rows, uid, HashOf(uid))].id;
  }
  // The row is known by its uid from now on, and no other row is. REQUIRES: its uid changes only
  // after Erase.
  void Insert(const Rows& rows, IdType id) {
    if ((size_ + 1) * 4 > entries_.size() * 3) Grow();
    const std::string_view uid = rows[id.index()].uid;
    const std::uint32_t hash = HashOf(uid);
    Entry& entry = entries_[Seek(rows, uid, hash)];
    size_ += !entry.id.valid();
    entry = {hash, id};
  }
  // No row is known by that uid any more.
  void Erase(const Rows& rows, std::string_view uid) {
    if (size_ == 0) return;
    std::size_t hole = Seek(rows, uid, HashOf(uid));
    if (!entries_[hole].id.valid()) return;
    --size_;
    // Entries behind it move up as far as their hash allows.
    for (std::size_t at = Next(hole); entries_[at].id.valid(); at = Next(at)) {
      const std::size_t home = entries_[at].hash & (entries_.size() - 1);
      if (((at - home) & (entries_.size() - 1)) < ((at - hole) & (entries_.size() - 1))) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole] = {};
  }

 private:
  struct Entry {
    std::uint32_t hash = 0;
    IdType id;  // invalid: the entry is free
  };

  static std::uint32_t HashOf(std::string_view uid) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(uid));
  }
  std::size_t Next(std::size_t at) const { return (at + 1) & (entries_.size() - 1); }
  // The entry of the uid, or the free one in its place.
  std::size_t Seek(const Rows& rows, std::string_view uid, std::uint32_t hash) const {
    std::size_t at = hash & (entries_.size() - 1);
    while (entries_[at].id.valid() &&
           !(entries_[at].hash == hash && rows[entries_[at].id.index()].uid == uid)) {
      at = Next(at);
    }
    return at;
  }
  void Grow() {
    std::vector<Entry> before(entries_.empty() ? 16 : entries_.size() * 2);
    std::swap(before, entries_);
    for (const Entry& entry : before) {
      if (!entry.id.valid()) continue;
      std::size_t at = entry.hash & (entries_.size() - 1);
      while (entries_[at].id.valid()) at = Next(at);
      entries_[at] = entry;
    }
  }

  std::vector<Entry> entries_;  // as many as a power of two
  std::size_t size_ = 0;
};

}  // namespace tephra
