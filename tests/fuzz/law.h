// Law: what must hold on every input. A fuzz target that finds it broken stops with its words.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace tephra {

inline void Law(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "law broken: %s\n", what.c_str());
  std::abort();
}

}  // namespace tephra
