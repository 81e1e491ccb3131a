// A nonce: the random name by which Allocate's answer, which knows no pod, is found again when the
// container starts. 128 bits, so that nobody can guess one and none is made twice.
#pragma once

#include <string>
#include <string_view>

namespace tephra::node {

constexpr std::size_t kNonceLength = 32;  // hexadecimal digits, lower case

std::string NewNonce();

// Only what is a nonce is ever made part of a path.
bool IsNonce(std::string_view text);

}  // namespace tephra::node
