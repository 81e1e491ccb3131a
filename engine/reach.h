// Reach: which nodes pods of a class may ever use, whatever room there is.
//
// Masks and refusals are not looked at, for both come and go. Derived from the books; one owner
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/snapshot.h"
#include "topology/base/ids.h"

namespace tephra {

class Reach {
 public:
  // REQUIRES: the hardware is settled.
  bool May(const Books& books, ClassId cls, NodeId node);

 private:
  enum class Said : std::uint8_t { kNothing, kMay, kMayNot };
  struct Known {
    std::uint32_t generation = 0;  // of the class
    bool names_hosts = false;      // then nodes that are alike may differ for it
    std::vector<Said> by_likeness;
  };

  std::vector<Known> classes_;  // by ClassId
  std::uint64_t order_ = 0;     // Hardware::order_version when it was asked
};

}  // namespace tephra
