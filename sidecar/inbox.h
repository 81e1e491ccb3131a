// Inbox: the facts that arrived between two cycles. Only the last fact about an object counts.
//
// A later fact about an object replaces an earlier one, unless a fact in between depends on it. All
// other facts keep their order. The result depends only on the facts and their order, never on
// time, so equal conversations give equal plans. One owner thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/event.h"

namespace tephra {

// A fact, and where in the conversation it stood.
struct Received {
  Event event;
  std::uint64_t sequence = 0;  // of its message
  std::uint32_t index = 0;     // in that message
};

class Inbox {
 public:
  void Add(Received fact);
  // What is left of all that was added, in order. The inbox is empty afterwards.
  std::vector<Received> Take();
  // How many facts are waiting; facts that a later one replaced are not counted.
  std::size_t size() const { return facts_.size() - superseded_; }
  void Clear();
  // So many facts were added since the last Take that no more should come: without cycles, facts
  // about one object would take memory without bound.
  bool full() const { return facts_.size() >= kMostFacts; }

  static constexpr std::size_t kMostFacts = 250'000;

 private:
  std::vector<std::optional<Received>> facts_;  // nothing: its place was taken
  // By object: where the last fact about it or one that needs it stands.
  std::unordered_map<std::string, std::size_t> last_;
  std::size_t superseded_ = 0;
};

}  // namespace tephra
