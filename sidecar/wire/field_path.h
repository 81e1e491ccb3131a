// FieldPath: where in a message decoding stands, e.g. "task_upserted.task.slices[2].device".
//
// A chain of frames on the stack, put into words only when something is wrong.
#pragma once

#include <cstdint>
#include <string>

#include "topology/base/status.h"

namespace tephra {

struct FieldPath {
  const FieldPath* parent = nullptr;  // null: the message itself
  const char* name = "";
  int index = -1;  // of a repeated field

  std::string Text() const;
  FieldPath At(const char* field, int i = -1) const { return {this, field, i}; }
};

// INVALID_ARGUMENT "<path>: <value>, expected <expected>".
absl::Status BadField(const FieldPath& at, std::int64_t value, const std::string& expected);
absl::Status MissingField(const FieldPath& at);

// --- enums: on the wire every value is one above ours, for there 0 means unspecified -----------

template <class Wire, class Enum>
constexpr Wire ToWire(Enum value) {
  return static_cast<Wire>(static_cast<int>(value) + 1);
}

// `last` is the greatest value that the domain has.
template <class Enum>
absl::Status FromWire(int wire, Enum last, const FieldPath& at, Enum& out) {
  const int most = static_cast<int>(last) + 1;
  if (wire < 1 || wire > most) return BadField(at, wire, "1 to " + std::to_string(most));
  out = static_cast<Enum>(wire - 1);
  return absl::OkStatus();
}

}  // namespace tephra
