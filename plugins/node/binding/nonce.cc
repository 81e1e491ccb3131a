#include "plugins/node/binding/nonce.h"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdlib>

namespace tephra::node {

std::string NewNonce() {
  std::array<std::uint8_t, kNonceLength / 2> bytes{};
  // Up to 256 bytes come at once and without fail, from the first second after boot on
  // (getrandom(2)).
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  constexpr char kDigits[] = "0123456789abcdef";
  std::string nonce;
  for (const std::uint8_t byte : bytes) {
    nonce += kDigits[byte >> 4];
    nonce += kDigits[byte & 15];
  }
  return nonce;
}

bool IsNonce(std::string_view text) {
  return text.size() == kNonceLength &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace tephra::node
