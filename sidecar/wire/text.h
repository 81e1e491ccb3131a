// TextCopier: copies text into a message and notes whether all of it was UTF-8, as protobuf
// demands of a string: what is not could be written but never read back.
#pragma once

#include <string>

#include <google/protobuf/repeated_ptr_field.h>

namespace tephra {

bool IsUtf8(const std::string& text);

class TextCopier {
 public:
  void Copy(const std::string& from, std::string* to) {
    clean_ = clean_ && IsUtf8(from);
    *to = from;
  }
  template <class Strings>
  void CopyAll(const Strings& from, google::protobuf::RepeatedPtrField<std::string>* to) {
    for (const std::string& text : from) Copy(text, to->Add());
  }
  bool clean() const { return clean_; }

 private:
  bool clean_ = true;
};

}  // namespace tephra
