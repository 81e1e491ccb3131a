// What the header of a journal says.
#pragma once

#include <cstdint>

namespace tephra {

inline constexpr char kJournalFormat[] = "tephra-journal";
// Raised when an older reader would misread what follows; added fields do not raise it.
inline constexpr std::uint32_t kJournalVersion = 1;

}  // namespace tephra
