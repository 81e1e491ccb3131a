#include "sidecar/wire/bad_text.h"

#include <string>
#include <vector>

#include "sidecar/wire/field_path.h"
#include "sidecar/wire/text.h"

namespace tephra {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

absl::Status Check(const Message& message, const FieldPath& parent);

// Element `i` of a repeated field; a single one where i is -1.
absl::Status CheckField(const Message& message, const FieldDescriptor* field, int i,
                        const FieldPath& at) {
  const Reflection& reflection = *message.GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return Check(i < 0 ? reflection.GetMessage(message, field)
                       : reflection.GetRepeatedMessage(message, field, i),
                 at);
  }
  if (field->type() != FieldDescriptor::TYPE_STRING) return absl::OkStatus();
  const std::string text = i < 0 ? reflection.GetString(message, field)
                                 : reflection.GetRepeatedString(message, field, i);
  if (IsUtf8(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(at.Text() + ": " + std::to_string(text.size()) +
                                    " bytes, expected UTF-8");
}

absl::Status Check(const Message& message, const FieldPath& parent) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const char* name = field->name().c_str();
    if (!field->is_repeated()) {
      TEPHRA_RETURN_IF_ERROR(CheckField(message, field, -1, parent.At(name)));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      TEPHRA_RETURN_IF_ERROR(CheckField(message, field, i, parent.At(name, i)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BadText(const Message& message) { return Check(message, FieldPath{}); }

}  // namespace tephra
