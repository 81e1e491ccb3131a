// Ids are types: dense indexes into one table each, so that a node is never taken for a task.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tephra {

template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = 0xffffffffu;

  std::uint32_t value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : value(static_cast<std::uint32_t>(index)) {}
  constexpr std::size_t index() const { return value; }
  constexpr bool valid() const { return value != kNone; }
  constexpr auto operator<=>(const Id&) const = default;
};

using NodeId = Id<struct NodeTag>;
using QueueId = Id<struct QueueTag>;
using JobId = Id<struct JobTag>;
using TaskId = Id<struct TaskTag>;
// A class of equal tasks: the same demand under the same constraints.
using ClassId = Id<struct ClassTag>;
// One "at most k in a domain" rule, shared by all tasks of its group.
using LimitId = Id<struct LimitTag>;
// Pending jobs of one queue that ask the same question; lines that the same room helps.
using LineId = Id<struct LineTag>;
using ShapeId = Id<struct ShapeTag>;
// A device model name, interned.
using ModelId = Id<struct ModelTag>;

}  // namespace tephra

template <class Tag>
struct std::hash<tephra::Id<Tag>> {
  std::size_t operator()(tephra::Id<Tag> id) const { return id.value; }
};
