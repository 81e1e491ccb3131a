// Consolidate: after every job had its turn, gangs that wait for room that is there in pieces
// have jobs moved that allow it, where that gains more than it costs. See README.md.
#pragma once

#include "engine/action.h"

namespace tephra {

class Consolidate final : public Action {
 public:
  std::string_view name() const override { return "consolidate"; }
  void Run(Cycle& cycle) const override;
};

// Whether the time of day is within one of the windows, or there are none.
bool WithinWindows(const std::vector<DailyWindow>& windows, TimeMs now);
// The next time that it is, from `now` on. REQUIRES: it is not.
TimeMs NextWindow(const std::vector<DailyWindow>& windows, TimeMs now);

}  // namespace tephra
