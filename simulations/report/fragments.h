// Fragments: the milli-GPUs of the cluster that are idle but not usable by the typical pods. An
// update reads only the nodes that changed.
//
// The measure is the one of plugins/openb/fgd.h. Sums are in thousandths of a milli-GPU, so that
// they do not depend on the order in which nodes changed. One owner thread.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/snapshot.h"
#include "plugins/openb/fgd.h"

namespace tephra {

class Fragments {
 public:
  explicit Fragments(const std::vector<ExpectedPod>& expected)
      : table_(expected), known_(!expected.empty()) {}

  // Updates the sums with the changes since the last call. `books` are those of one State.
  std::int64_t Update(const Books& books);

 private:
  std::int64_t Of(const Books& books, NodeId node);
  void Refresh(const Books& books, NodeId node);

  FragmentTable table_;
  bool known_;
  std::vector<std::int64_t> by_node_;
  std::vector<std::int32_t> free_;  // scratch
  std::int64_t sum_ = 0;
  std::uint64_t read_ = 0;
};

}  // namespace tephra
