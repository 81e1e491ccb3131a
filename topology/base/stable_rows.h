// StableRows: a table that only grows, of which no row ever moves. It has no more room than it
// needs, while a vector may have twice as much, and three times while it grows.
//
// One owner thread; several may read while it does not change.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace tephra {

template <typename Row>
class StableRows {
 public:
  StableRows() = default;
  StableRows(const StableRows& other) {
    while (size_ < other.size()) {
      const std::size_t at = size_;
      emplace_back() = other[at];
    }
  }
  StableRows(StableRows&& other) noexcept
      : blocks_(std::move(other.blocks_)), size_(std::exchange(other.size_, 0)) {}
  StableRows& operator=(StableRows other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Row& operator[](std::size_t at) { return blocks_[at / kBlock][at % kBlock]; }
  const Row& operator[](std::size_t at) const { return blocks_[at / kBlock][at % kBlock]; }
  // Adds a row with default values.
  Row& emplace_back() {
    if (size_ == blocks_.size() * kBlock) blocks_.push_back(std::make_unique<Row[]>(kBlock));
    return (*this)[size_++];
  }

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Row;
    using difference_type = std::ptrdiff_t;
    using pointer = const Row*;
    using reference = const Row&;

    Iterator() = default;
    Iterator(const StableRows& rows, std::size_t at) : rows_(&rows), at_(at) {}
    reference operator*() const { return (*rows_)[at_]; }
    pointer operator->() const { return &(*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const StableRows* rows_ = nullptr;
    std::size_t at_ = 0;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  static constexpr std::size_t kBlock = 128;

  std::vector<std::unique_ptr<Row[]>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace tephra
