// Inbox: the facts that came between two cycles, of which only the last word on an object counts.
//
// A later fact about an object takes the place of an earlier one that nothing in between depends
// on; all others keep their order. What comes out depends on what went in and never on when, so
// that equal conversations are equal plans. One owner thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/framework/event.h"

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
  // How many facts wait; those whose place was taken are not counted.
  std::size_t size() const { return facts_.size() - superseded_; }
  void Clear();

 private:
  std::vector<std::optional<Received>> facts_;  // nothing: its place was taken
  // By object: where the last fact about it or one that needs it stands.
  std::unordered_map<std::string, std::size_t> last_;
  std::size_t superseded_ = 0;
};

}  // namespace tephra
