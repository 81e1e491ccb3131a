// The one list of policies and actions in this build: a new one is a new folder and a line here.
// A policy that lives outside this tree registers itself instead, before main()
// (docs/tutorials/write-a-policy.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace tephra {

Assembly DefaultAssembly();

// Adds a score to this program. `policies.score` can then name it like a built-in one.
//
//   const ScoreRegistration kCheapest("cheapest", [] { return std::make_unique<Cheapest>(); });
//
// REQUIRES: an object at namespace scope; no other score has this name.
class ScoreRegistration {
 public:
  using Make = std::function<std::unique_ptr<Score>()>;
  ScoreRegistration(std::string name, Make make);
};

// Replaces the queue order of this program: all jobs are then tried in this order.
// REQUIRES: an object at namespace scope; the program has no other one.
class OrderRegistration {
 public:
  using Make = std::function<std::unique_ptr<Order>()>;
  explicit OrderRegistration(Make make);
};

// Names for node_scores and device_scores, in order.
std::vector<std::string> ScoreNames();
// The names that a list among the settings may use; empty: the setting is no list of names.
std::vector<std::string> SettingNames(const std::string& setting);

// What each queue is to have now, by QueueId; below zero: not shared (plugins/fairshare).
std::vector<Resources> QueueShares(const Books& books);

}  // namespace tephra
