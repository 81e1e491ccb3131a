// The one list of policies and actions in this build: a new one is a new folder and a line here.
#pragma once

#include <string>
#include <vector>

#include "plugins/framework/engine.h"

namespace tephra {

Assembly DefaultAssembly();

// Names for node_scores and device_scores, in order.
std::vector<std::string> ScoreNames();

// What each queue is to have now, by QueueId; below zero: not shared (plugins/fairshare).
std::vector<Resources> QueueShares(const Books& books);

}  // namespace tephra
