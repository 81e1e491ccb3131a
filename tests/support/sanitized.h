// How much slower a sanitizer makes what is tested here: tests of many random cases try that much
// fewer, for sanitizers look for another kind of fault anyway.
#pragma once

namespace tephra {

#ifdef __has_feature  // clang's; GCC has a macro for each
#define TEPHRA_SANITIZED(feature, macro) __has_feature(feature)
#else
#define TEPHRA_SANITIZED(feature, macro) defined(macro)
#endif

#if TEPHRA_SANITIZED(address_sanitizer, __SANITIZE_ADDRESS__)
constexpr int kSlowdown = 8;
#elif TEPHRA_SANITIZED(thread_sanitizer, __SANITIZE_THREAD__)
constexpr int kSlowdown = 20;
#else
constexpr int kSlowdown = 1;
#endif

#undef TEPHRA_SANITIZED

}  // namespace tephra
