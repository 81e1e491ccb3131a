#include "sidecar/wire/text.h"

#include <cstddef>
#include <cstdint>

namespace tephra {
namespace {

// The length of the character at `at`, or 0 where there is none. The ranges are those of table
// 3-7 of the Unicode standard: no overlong form, no surrogate, nothing above U+10FFFF.
std::size_t CharacterAt(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto tail = [&](std::size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xbf; };
  const unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80, high = lead == 0xed ? 0x9f : 0xbf;
    return second >= low && second <= high && tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80, high = lead == 0xf4 ? 0x8f : 0xbf;
    return second >= low && second <= high && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool IsUtf8(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = CharacterAt(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace tephra
