// Fixed 64-bit mixing: the same on every run and machine, so that a "random" decision is a pure
// function of its seed and of the names involved.
#pragma once

#include <cstdint>
#include <string_view>

namespace tephra {

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014).
constexpr std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr std::uint64_t Mix(std::uint64_t a, std::uint64_t b) { return Mix(Mix(a) ^ b); }

// FNV-1a, then mixed.
constexpr std::uint64_t HashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return Mix(hash);
}

}  // namespace tephra
