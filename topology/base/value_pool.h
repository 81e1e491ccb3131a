// ValuePool: gives equal values one box, so that a value which many rows have is in memory once.
//
// A value that only the pool holds is dropped in time: memory grows with the values in use. Nothing
// reads the pool in its order. One owner thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <absl/container/flat_hash_set.h>

#include "topology/base/boxed.h"

namespace tephra {

struct TextHash {
  std::size_t operator()(const std::string& text) const {
    return std::hash<std::string_view>()(text);
  }
};

// `Hash`: a function object; equal values have equal hashes. A key may stand for a value if `Hash`
// takes it and it compares with the value.
template <typename T, typename Hash>
class ValuePool {
 public:
  // The box of a value equal to this one.
  Boxed<T> Of(const T& value) {
    return Of(value, [&] { return value; });
  }
  Boxed<T> Of(Boxed<T> value) {
    if (value.is_default()) return value;
    const auto known = boxes_.find(*value);
    return known != boxes_.end() ? *known : Add(std::move(value));
  }
  // The box of the value that equals the key; `make` makes it if the pool has none.
  template <typename Key, typename Make>
  Boxed<T> Of(const Key& key, const Make& make) {
    const auto known = boxes_.find(key);
    return known != boxes_.end() ? *known : Add(Boxed<T>(make()));
  }

  std::size_t size() const { return boxes_.size(); }

 private:
  struct HashOfBox {
    using is_transparent = void;
    std::size_t operator()(const Boxed<T>& box) const { return Hash()(*box); }
    template <typename Key>
    std::size_t operator()(const Key& key) const {
      return Hash()(key);
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Boxed<T>& a, const Boxed<T>& b) const { return a == b; }
    template <typename Key>
    bool operator()(const Boxed<T>& box, const Key& key) const {
      return *box == key;
    }
  };
  // Fewer are never looked through.
  static constexpr std::size_t kFew = 64;

  Boxed<T> Add(Boxed<T> box) {
    if (box.is_default()) return box;
    // The pool is looked through once it has twice as many values as were in use the last time.
    if (boxes_.size() >= look_at_) {
      absl::erase_if(boxes_, [](const Boxed<T>& one) { return !one.shared(); });
      look_at_ = std::max(kFew, 2 * boxes_.size());
    }
    boxes_.insert(box);
    return box;
  }

  absl::flat_hash_set<Boxed<T>, HashOfBox, Equal> boxes_;
  std::size_t look_at_ = kFew;
};

}  // namespace tephra
