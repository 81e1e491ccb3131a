// How much slower a sanitizer makes what is tested here: tests of many random cases try that much
// fewer, for sanitizers look for another kind of fault anyway.
#pragma once

#ifndef __has_feature  // clang has it; GCC has a macro for each sanitizer
#define __has_feature(feature) 0
#endif

namespace tephra {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
constexpr int kSlowdown = 8;
#elif defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
constexpr int kSlowdown = 20;
#else
constexpr int kSlowdown = 1;
#endif

}  // namespace tephra
