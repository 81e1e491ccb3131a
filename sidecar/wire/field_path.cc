#include "sidecar/wire/field_path.h"

namespace tephra {

std::string FieldPath::Text() const {
  std::string text = parent == nullptr ? "" : parent->Text();
  if (!text.empty()) text += ".";
  text += name;
  if (index >= 0) text.append("[").append(std::to_string(index)).append("]");
  return text;
}

absl::Status BadField(const FieldPath& at, std::int64_t value, const std::string& expected) {
  return absl::InvalidArgumentError(at.Text() + ": " + std::to_string(value) + ", expected " +
                                    expected);
}

absl::Status MissingField(const FieldPath& at) {
  return absl::InvalidArgumentError(at.Text() + ": missing");
}

}  // namespace tephra
