#include "sidecar/wire/memory_codec.h"

#include <utility>
#include <vector>

namespace tephra {
namespace {

using WireRemembered = google::protobuf::RepeatedPtrField<v1::RememberedAmount>;

void Encode(const std::vector<RememberedAmount>& in, TextCopier& text, WireRemembered* out) {
  for (const RememberedAmount& amount : in) {
    v1::RememberedAmount* wire = out->Add();
    text.Copy(amount.kind, wire->mutable_kind());
    wire->set_spent(amount.spent);
  }
}

std::vector<RememberedAmount> Decode(const WireRemembered& in) {
  std::vector<RememberedAmount> out;
  for (const v1::RememberedAmount& wire : in) out.push_back({wire.kind(), wire.spent()});
  return out;
}

}  // namespace

void Encode(const Memory& in, TextCopier& text, v1::Memory* out) {
  out->set_version(in.version);
  out->set_at_ms(in.at);
  out->set_half_life_ms(in.half_life_ms);
  for (const RememberedQueue& queue : in.queues) {
    v1::RememberedQueue* wire = out->add_queues();
    text.Copy(queue.queue, wire->mutable_queue());
    Encode(queue.spent, text, wire->mutable_spent());
    for (const RememberedUser& user : queue.users) {
      v1::RememberedUser* wire_user = wire->add_users();
      text.Copy(user.user, wire_user->mutable_user());
      Encode(user.spent, text, wire_user->mutable_spent());
    }
  }
}

Memory Decode(const v1::Memory& in) {
  Memory out;
  out.version = in.version();
  out.at = in.at_ms();
  out.half_life_ms = in.half_life_ms();
  for (const v1::RememberedQueue& wire : in.queues()) {
    RememberedQueue& queue = out.queues.emplace_back();
    queue.queue = wire.queue();
    queue.spent = Decode(wire.spent());
    for (const v1::RememberedUser& user : wire.users()) {
      queue.users.push_back({user.user(), Decode(user.spent())});
    }
  }
  return out;
}

}  // namespace tephra
