// A nonce: the random name by which the answer of Allocate, which knows no pod, is found again when
// the container starts. It has 128 bits, so that no nonce can be guessed or made twice.
#pragma once

#include <string>
#include <string_view>

namespace tephra::node {

constexpr std::size_t kNonceLength = 32;  // hexadecimal digits, lower case

std::string NewNonce();

// Only what is a nonce is ever made part of a path.
bool IsNonce(std::string_view text);

}  // namespace tephra::node
