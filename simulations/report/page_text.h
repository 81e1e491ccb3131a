// The parts of the page that are made when tephra is built: see page/assemble.cmake.
#pragma once

#include <string_view>

namespace tephra {

extern const std::string_view kPageHead;  // up to the figures
extern const std::string_view kPageTail;

}  // namespace tephra
