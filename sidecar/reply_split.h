// SplitReply cuts the reply of one cycle into messages of a bounded size.
//
// Pure. The client appends the lists of all messages and has the reply again, as service.proto says.
#pragma once

#include <cstddef>
#include <vector>

#include "tephra/v1/service.pb.h"

namespace tephra {

// Far below what a client reads, and small enough to be decoded while the next message is written.
constexpr std::size_t kReplyBytes = std::size_t{4} << 20;

// Messages of at most `bytes`, or of one decision, note or proposal that is larger by itself. All but
// the last say that more follows; the last has what is no list, and the memory.
std::vector<v1::CycleReply> SplitReply(v1::CycleReply whole, std::size_t bytes = kReplyBytes);

}  // namespace tephra
